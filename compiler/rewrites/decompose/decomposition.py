"""What the functions that decompose operators are written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import Array, Graph, Op, Shape, Tensor, constant
from ...ir.inline import substitute
from ...ops import OPS
from ...target import Target

LAST = 2**30
"""The position of operators that run after all others."""


class Decomposition:
    """The operators that take the place of `op`; the graph does not change until `apply`."""

    def __init__(self, graph: Graph, op: Op, target: Target) -> None:
        self.graph = graph
        self.op = op
        self.target = target
        self.ops: list[Op] = []
        """The new operators, in an order in which they can run."""
        self.results: tuple[Tensor, ...] = ()
        self._assigned: list[tuple[Tensor, Tensor]] = []
        self._count = 0

    def several(
        self, name: str, inputs: Sequence[Tensor | None], dtypes: Sequence[str], **attrs: Any
    ) -> tuple[Tensor, ...]:
        """The results of an operator; what follows from constants alone is computed at once."""
        stem = f"{self.op.output.name}/{name.lower()}{self._count}"
        self._count += 1
        results = tuple(Tensor(f"{stem}.{i}", (), dtype) for i, dtype in enumerate(dtypes))
        op = Op(name, inputs, results, attrs, self.op.index)
        definition = OPS[name]
        for tensor, shape in zip(results, definition.infer(op), strict=True):
            tensor.shape = tuple(int(size) for size in shape)
        known = [tensor.data for tensor in op.reads if tensor.data is not None]
        if definition.reference is not None and len(known) == len(op.reads):
            arrays = definition.reference(op, known)
            for tensor, array in zip(results, arrays, strict=True):
                tensor.data = np.asarray(array, tensor.dtype).reshape(tensor.shape)
        else:
            self.ops.append(op)
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
        self._assigned.append((variable, value))

    def finish(self, *results: Tensor) -> None:
        """Say what takes the place of the operator's outputs."""
        self.results = results

    def apply(self) -> None:
        """Put the new operators into the graph, and remove the one they stand for.

        Operators whose results only that one read are removed, too.
        """
        sources = dict.fromkeys(self.graph.producer(tensor) for tensor in self.op.reads)
        for op in self.ops:
            self.graph.add(op)
        for variable, value in self._assigned:
            assign(self.graph, variable, value)
        substitute(self.graph, self.op, self.results)
        for source in filter(None, sources):
            if not any(self._needed(tensor) for tensor in source.outputs):
                self.graph.remove(source)

    def _needed(self, tensor: Tensor) -> bool:
        return bool(self.graph.consumers(tensor)) or self.graph.is_output(tensor)


def assign(graph: Graph, variable: Tensor, value: Tensor) -> None:
    """Let a variable hold `value` after the run."""
    written = Tensor(f"{variable.name}/next", variable.shape, variable.dtype)
    attrs = {"variable": variable.name}
    graph.add(Op("tflgpu.keep", (value,), (written,), attrs, LAST))
    graph.kept[written] = variable


Decompose = Callable[[Decomposition], str | None]
"""Writes down what an operator is made of; if it is better left alone, says why."""

DECOMPOSITIONS: dict[str, Decompose] = {}
"""By the name of the operator."""


def decomposes(*names: str) -> Callable[[Decompose], Decompose]:
    """Register a function as what decomposes those operators."""

    def register(function: Decompose) -> Decompose:
        DECOMPOSITIONS.update(dict.fromkeys(names, function))
        return function

    return register
