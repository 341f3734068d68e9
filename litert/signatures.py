"""The signatures of an open model, by key and by index, for LiteRT's `CompiledModel`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .details import TYPES
from .file import FileSignature
from .opened import Opened
from .subgraph import Subgraph
from .tensor_buffer import TensorBuffer

# LiteRT's key for the first subgraph of a model without signatures.
PLACEHOLDER = "<placeholder signature>"


class Signatures:
    """The signatures of a model, which are ready to run once they are used.

    Indices are those in the order of the file. RuntimeError for a signature that is not there, for
    a model that cannot be compiled or loaded, and once it has been closed.
    """

    def __init__(self, model: Opened) -> None:
        self._model: Opened | None = model
        self.by_key: Mapping[str, FileSignature] = model.file.signatures or {
            PLACEHOLDER: _whole(model)
        }

    def index(self, key: str) -> int:
        if key not in self.by_key:
            raise RuntimeError(f"Signature not found: {key}")
        return list(self.by_key).index(key)

    def at(self, index: int) -> tuple[str, FileSignature]:
        if not 0 <= index < len(self.by_key):
            raise RuntimeError(f"the model has no signature {index}")
        return list(self.by_key.items())[index]

    def subgraph(self, index: int) -> Subgraph:
        """The subgraph of a signature, ready to run."""
        if self._model is None:
            raise RuntimeError("the CompiledModel has been closed")
        subgraph = self._model.subgraph(self.at(index)[1].subgraph)
        subgraph.allocate()
        return subgraph

    def details(self, index: int, numbers: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each of some tensors, by the signature's names for them."""
        subgraph = self.subgraph(index)
        found = {}
        for name, number in numbers.items():
            info = subgraph.details(number)
            found[name] = {
                "name": info["name"],
                "index": number,
                "dtype": np.dtype(info["dtype"]).name,
                "shape": info["shape"].tolist(),
            }
        return found

    def buffer(self, index: int, numbers: Mapping[str, int], name: str) -> TensorBuffer:
        """A buffer for one of some tensors, by the signature's name for it (RuntimeError)."""
        if name not in numbers:
            raise RuntimeError(f"Tensor not found: {name}")
        info = self.subgraph(index).details(numbers[name])
        if info["dtype"] is TYPES["string"]:
            raise RuntimeError(
                f"tensor {name} holds strings, which a TensorBuffer cannot; use the Interpreter"
            )
        return TensorBuffer(np.zeros(tuple(info["shape"]), info["dtype"]))

    def close(self) -> None:
        self._model = None


def _whole(model: Opened) -> FileSignature:
    """The first subgraph under its own names."""
    subgraph = model.file.subgraph(0)
    return FileSignature(
        0,
        {subgraph.tensors[index].name: index for index in subgraph.inputs},
        {subgraph.tensors[index].name: index for index in subgraph.outputs},
    )
