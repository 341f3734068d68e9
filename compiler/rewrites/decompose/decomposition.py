"""The builder that decompositions are written with, their registry, and the pass that runs them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...ir import Array, Graph, Op, Shape, Tensor, constant
from ...ir.inline import substitute
from ...ops import OPS
from ...ops.base.definition import FUSED_ACTIVATION, activation_of
from ...ops.elementwise.cast import KEEP
from ...target import Target
from ..fold.fold_constants import computed, known
from ..rewrite import Attempt, Attempts, graph_rewrite, invalid_operator

LAST = 2**30  # The index of operators that run after all others.
Results = Tensor | Sequence[Tensor]  # What replaces an operator's only output, or all of them.


class Decomposition:
    """The operators that replace `op`; the graph does not change until `apply`."""

    def __init__(self, graph: Graph, op: Op, target: Target) -> None:
        self.graph = graph
        self.op = op
        self.target = target
        self.ops: list[Op] = []  # The new operators, in order of execution.
        self._assigned: list[tuple[Tensor, Tensor]] = []
        self._count = 0

    def several(
        self, name: str, inputs: Sequence[Tensor | None], dtypes: Sequence[str], **attrs: Any
    ) -> tuple[Tensor, ...]:
        """An operator with an output per dtype, computed at once if all operands are constants."""
        own = name.removeprefix("tflgpu.").lower()
        stem = f"{self.op.output.name}/{own}{self._count}"
        self._count += 1
        results = tuple(Tensor(f"{stem}.{i}", (), dtype) for i, dtype in enumerate(dtypes))
        op = Op(name, inputs, results, attrs, self.op.index)
        for tensor, shape in zip(results, OPS[name].infer(op), strict=True):
            tensor.shape = tuple(int(size) for size in shape)
        if known(op):
            for tensor, array in zip(results, computed(op), strict=True):
                tensor.content = array
        else:
            self.ops.append(op)
        return results

    def add(self, name: str, *inputs: Tensor | None, dtype: str = "", **attrs: Any) -> Tensor:
        """Add an operator with one output, by default of the first input's type; returns it."""
        first = next(tensor for tensor in inputs if tensor is not None)
        return self.several(name, inputs, [dtype or first.dtype], **attrs)[0]

    def constant(self, values: Any, dtype: str = "float32") -> Tensor:
        self._count += 1
        array: Array = np.asarray(values, dtype)
        return constant(f"{self.op.output.name}/constant{self._count}", array)

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        """The tensor in another shape, in which one size may be -1."""
        if tensor.shape == tuple(shape):
            return tensor
        return self.add("RESHAPE", tensor, new_shape=tuple(shape))

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        if list(order) == sorted(order):
            return tensor
        return self.add("TRANSPOSE", tensor, self.constant(order, "int32"))

    def slice(self, tensor: Tensor, begin: Sequence[int], size: Sequence[int]) -> Tensor:
        """The block of these sizes, where -1 is all the rest, from these coordinates on."""
        if tuple(size) == tensor.shape:
            return tensor
        return self.add(
            "SLICE", tensor, self.constant(begin, "int32"), self.constant(size, "int32")
        )

    def reduce(self, name: str, tensor: Tensor, axis: int = -1, keep_dims: bool = True) -> Tensor:
        """What a reduction makes of a tensor along an axis, by default the last one."""
        along = self.constant([axis % len(tensor.shape)], "int32")
        return self.add(name, tensor, along, keep_dims=keep_dims)

    def split(self, tensor: Tensor, count: int, axis: int) -> tuple[Tensor, ...]:
        """So many equal parts along an axis."""
        operands = self.constant(axis, "int32"), tensor
        return self.several("SPLIT", operands, [tensor.dtype] * count, num_splits=count)

    def joined(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return tensors[0] if len(tensors) == 1 else self.add("CONCATENATION", *tensors, axis=axis)

    @property
    def unfused(self) -> dict[str, Any]:
        return {**self.op.attrs, FUSED_ACTIVATION: "NONE"}

    def activated(self, tensor: Tensor) -> Tensor:
        """What the operator's activation makes of a tensor."""
        activation = activation_of(self.op)
        return tensor if activation is None else self.add(activation, tensor)

    def assign(self, variable: Tensor, value: Tensor) -> None:
        """Make `value` the variable's content at the end of the run.

        The copy runs after every other operator, so that readers see the previous content.
        """
        self._assigned.append((variable, value))

    def apply(self, results: Results) -> None:
        """Add the new operators to the graph, and remove the one whose outputs `results` replace.

        Operators whose results nothing reads any more are removed, too.
        """
        sources = self.graph.producers(self.op.reads)
        for op in self.ops:
            self.graph.add(op)
        for variable, value in self._assigned:
            assign(self.graph, variable, value)
            # A variable that is also an output has its new content at the end of the run.
            outputs = self.graph.outputs
            self.graph.outputs = [value if tensor is variable else tensor for tensor in outputs]
        results = [results] if isinstance(results, Tensor) else results
        substitute(self.graph, self.op, results)
        self.graph.remove_unread(sources)


def assign(graph: Graph, variable: Tensor, value: Tensor) -> None:
    """Make `value` the variable's content at the end of the run."""
    written = Tensor(f"{variable.name}/next", variable.shape, variable.dtype)
    attrs = {"variable": variable.name}
    graph.add(Op(KEEP, (value,), (written,), attrs, LAST))
    graph.kept[written] = variable


# Builds the decomposition of an operator; returns the reason if the operator is left alone.
Decompose = Callable[[Decomposition], Results | str]

DECOMPOSITIONS: dict[str, Decompose] = {}

D = TypeVar("D", bound=Decompose)


def decomposes(*names: str) -> Callable[[D], D]:
    """Register a function as the decomposition of operators."""

    def register(function: D) -> D:
        DECOMPOSITIONS.update(dict.fromkeys(names, function))
        return function

    return register


@graph_rewrite(required=True)
def decompose_operators(graph: Graph, target: Target) -> Attempts:
    """Until nothing is left to decompose: new operators may be decomposed in turn.

        y = L2_NORMALIZATION(x)
        becomes   y = DIV(x, MAXIMUM(1e-6, SQRT(SUM(SQUARE(x)))))

    ModelError if operands or options are invalid, UnsupportedError if an operator cannot be split.
    """
    declined: set[Op] = set()
    while waiting := [op for op in graph.ops if op.name in DECOMPOSITIONS and op not in declined]:
        for op in waiting:
            decomposition = Decomposition(graph, op, target)
            with invalid_operator(op):
                found = DECOMPOSITIONS[op.name](decomposition)
            if isinstance(found, str):
                yield Attempt((op,), found)
                declined.add(op)
            else:
                yield Attempt((op,))
                decomposition.apply(found)
