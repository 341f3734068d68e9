"""`SignatureRunner`, which runs a signature of a model by the names of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..compiler.ir import Array
from .file import FileSignature
from .subgraph import Subgraph


class SignatureRunner:
    """A function that takes a signature's inputs by keyword and returns its outputs by name.

    `Interpreter.get_signature_runner` makes them.
    """

    def __init__(self, subgraph: Subgraph, signature: FileSignature) -> None:
        self._subgraph = subgraph
        self._inputs, self._outputs = by_name(signature.inputs), by_name(signature.outputs)

    def __call__(self, **inputs: Array) -> dict[str, Array]:
        """Run the signature on arrays, whose shapes its inputs then have.

        ValueError if they are not the inputs, or not of their types; RuntimeError if the model
        cannot be compiled for these shapes, or fails.
        """
        if len(inputs) != len(self._inputs):
            raise ValueError(
                "Invalid number of inputs provided for running a SignatureDef, expected "
                f"{len(self._inputs)} vs provided {len(inputs)}"
            )
        for name, value in inputs.items():
            if name not in self._inputs:
                raise ValueError(f"Invalid Input name ({name}) for SignatureDef")
            self._subgraph.resize(self._inputs[name], tuple(value.shape), strict=False)
        self._subgraph.allocate()
        for name, value in inputs.items():
            self._subgraph.set(self._inputs[name], value)
        self._subgraph.invoke()
        return {name: self._subgraph.get(index) for name, index in self._outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each input, by the signature's name for it."""
        return {name: self._subgraph.details(index) for name, index in self._inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each output, by the signature's name for it."""
        return {name: self._subgraph.details(index) for name, index in self._outputs.items()}


def by_name(numbers: Mapping[str, int]) -> dict[str, int]:
    """Tensor indices sorted by name, as LiteRT's interpreter has them."""
    return dict(sorted(numbers.items()))
