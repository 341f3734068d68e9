"""What an operator that is several simpler ones is written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...devices import Profile
from ...ir import Array, Graph, Op, Shape, Tensor, constant
from ...ops import OPS


class Expansion:
    """Operators added in place of `op`, each with the shapes its operands give it."""

    def __init__(self, graph: Graph, op: Op, profile: Profile) -> None:
        self.graph = graph
        self.op = op
        self.profile = profile
        self._count = 0

    def several(
        self, name: str, inputs: Sequence[Tensor | None], dtypes: Sequence[str], **attrs: Any
    ) -> tuple[Tensor, ...]:
        """The results of an operator; what follows from constants alone is computed at once."""
        stem = f"{self.op.output.name}/{name.lower()}{self._count}"
        self._count += 1
        results = tuple(Tensor(f"{stem}.{i}", (), dtype) for i, dtype in enumerate(dtypes))
        op = Op(name, tuple(inputs), results, attrs, self.op.index)
        definition = OPS[name]
        for tensor, shape in zip(results, definition.infer(op), strict=True):
            tensor.shape = tuple(int(size) for size in shape)
        known = [tensor.data for tensor in op.reads if tensor.data is not None]
        if definition.reference is not None and len(known) == len(op.reads):
            arrays = definition.reference(op, known)
            for tensor, array in zip(results, arrays, strict=True):
                tensor.data = np.asarray(array, tensor.dtype).reshape(tensor.shape)
        else:
            self.graph.add(op)
        return results

    def add(self, name: str, *inputs: Tensor | None, dtype: str = "", **attrs: Any) -> Tensor:
        """The result of an operator; its type is that of the first input unless given."""
        first = next(tensor for tensor in inputs if tensor is not None)
        return self.several(name, inputs, [dtype or first.dtype], **attrs)[0]

    def constant(self, values: Any, dtype: str = "float32") -> Tensor:
        """A constant tensor."""
        self._count += 1
        array: Array = np.asarray(values, dtype)
        return constant(f"{self.op.output.name}/constant{self._count}", array)

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        """The same elements in another shape."""
        if tensor.shape == tuple(shape):
            return tensor
        return self.add("RESHAPE", tensor, new_shape=tuple(shape))

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        """The axes in another order."""
        if list(order) == sorted(order):
            return tensor
        return self.add("TRANSPOSE", tensor, self.constant(order, "int32"))

    def assign(self, variable: Tensor, value: Tensor) -> None:
        """Let a variable hold `value` after the run; readers in this run see what it held before.

        The copy gets the last place in the order of execution, behind all that read the variable.
        """
        assign(self.graph, variable, value)

    def finish(self, *results: Tensor) -> None:
        """Let `results` take the place of the operator's outputs, and remove it."""
        outputs = self.op.outputs
        for old, new in zip(outputs, results, strict=True):
            self.graph.replace(old, new)
        self.graph.remove(self.op)
        for old, new in zip(outputs, results, strict=True):
            if self.graph.producer(new) is not None and "/" in new.name:
                new.name = old.name


LAST = 2**30
"""The position of operators that run after all others."""


def assign(graph: Graph, variable: Tensor, value: Tensor) -> None:
    """Let a variable hold `value` after the run."""
    written = Tensor(f"{variable.name}/next", variable.shape, variable.dtype)
    attrs = {"variable": variable.name}
    graph.add(Op("tflgpu.keep", (value,), (written,), attrs, LAST))
    graph.kept[written] = variable


Expand = Callable[[Expansion], str | None]
"""Spells an operator out; where it leaves it alone it says why."""

EXPANSIONS: dict[str, Expand] = {}
"""By the name of the operator."""


def expands(*names: str) -> Callable[[Expand], Expand]:
    """Register a function as what those operators are spelled out with."""

    def register(function: Expand) -> Expand:
        EXPANSIONS.update(dict.fromkeys(names, function))
        return function

    return register
