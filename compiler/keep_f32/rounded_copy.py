"""A copy of a model in which switches round weights and tensors to half, for LiteRT to run.

t = CONV_2D(x, w, b)   y = RELU(t)
becomes
e = CONV_2D(x, w, b)   h = CONV_2D(x, half w, half b)   t = SELECT_V2(switch 0, h, e)
f = CAST(CAST(t): float16): float32   r = SELECT_V2(switch 1, f, t)   y = RELU(r)

A run takes milliseconds and no compilation, so that the effect of each rounding on the outputs of
the model can be measured, and sets of operators be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial

import numpy as np

from ..frontend.writer import write
from ..ir import Array, Graph, Op, Tensor, constant
from ..litert.reference import Reference
from .error import relative_error

_Sample = tuple[Sequence[Array], Sequence[Array]]
"""Inputs, and the outputs without roundings."""


class RoundedCopy:
    """Finds operators to keep in single precision, by runs of the copy."""

    def __init__(
        self,
        graph: Graph,
        stored: Collection[str],
        samples: Sequence[Sequence[Array]],
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`stored` names the tensors in half precision; a sample has the inputs in their order.

        The graph is the copy from then on. `progress` is called after each set of operators that
        is tried. ModelError if LiteRT cannot run the copy.
        """
        self._progress = progress
        self._users = {op.index: [t.name for t in (*op.reads, *op.outputs)] for op in graph.ops}
        self._names: list[str] = []
        tensors = {tensor: tensor for tensor in graph.tensors if _can_round(tensor, stored)}
        for op in graph.ops:
            if _has_weights(op):
                name = f"weights of {op.index}"
                self._users[op.index].append(name)
                chosen = self._add_switch(graph, op.output, partial(_with_half_weights, op), name)
                tensors = {t: chosen if t is op.output else now for t, now in tensors.items()}
        for tensor, now in tensors.items():
            self._add_switch(graph, now, _rounded, tensor.name)
        shapes = [*(array.shape for array in samples[0]), *(() for _ in self._names)]
        self._model = Reference(write(graph), input_shapes=shapes, delegates=True)
        exact = [(inputs, self._outputs(inputs, ())) for inputs in samples]
        everything = frozenset(self._names)
        # Those that lose most come first, as they decide most trials.
        self._samples = sorted(exact, key=lambda sample: -self._loss(sample, everything))

    def _add_switch(
        self, graph: Graph, exact: Tensor, half: Callable[[Graph, Tensor], Tensor], name: str
    ) -> Tensor:
        """Let all that read a tensor read a new one, another one where a new input is true."""
        number = len(self._names)
        self._names.append(name)
        switch = Tensor(f"switch {number}", (), "bool")
        graph.inputs.append(switch)
        graph.input_names.append(switch.name)
        chosen = Tensor(f"chosen {number}", exact.shape)
        graph.replace(exact, chosen)
        graph.add(Op("SELECT_V2", (switch, half(graph, exact), exact), (chosen,)))
        return chosen

    def fewest(self, tolerance: float) -> tuple[int, ...]:
        """Operators, by index, without whose tensors rounding stays within the tolerance.

        None of them can be left out.
        """
        if self._suffice((), tolerance):
            return ()
        ranked = self._ranked
        few, enough = 0, len(ranked)
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (
                (few, middle) if self._suffice(ranked[:middle], tolerance) else (middle, enough)
            )
        kept = ranked[:enough]
        for op in reversed(kept):
            others = [other for other in kept if other != op]
            if self._suffice(others, tolerance):
                kept = others
        return tuple(sorted(kept))

    def with_next(self, kept: Collection[int], count: int) -> tuple[int, ...]:
        """Operators, and so many more of those that cost most; all, if none of these is left."""
        left = [op for op in self._ranked if op not in kept][:count]
        return tuple(sorted((*kept, *left) if left else self._users))

    @cached_property
    def _ranked(self) -> list[int]:
        """The operators with roundings, those first whose roundings alone cost most."""
        own = {op: set(self._names).intersection(users) for op, users in self._users.items()}
        costs = {}
        for op, rounded in own.items():
            if rounded:
                costs[op] = self._loss(self._samples[0], rounded)
                self._progress()
        return sorted(costs, key=lambda op: -costs[op])

    def _suffice(self, kept: Sequence[int], tolerance: float) -> bool:
        single = {name for op in kept for name in self._users[op]}
        rounded = frozenset(self._names) - single
        self._progress()
        return all(self._loss(sample, rounded) <= tolerance for sample in self._samples)

    def _loss(self, sample: _Sample, rounded: Collection[str]) -> float:
        """The error at the outputs if these tensors are rounded."""
        inputs, exact = sample
        outputs = zip(self._outputs(inputs, rounded), exact, strict=True)
        return max(relative_error(actual, expected) for actual, expected in outputs)

    def _outputs(self, inputs: Sequence[Array], rounded: Collection[str]) -> Sequence[Array]:
        switches = [np.array(name in rounded) for name in self._names]
        return self._model.run([*inputs, *switches])


def _can_round(tensor: Tensor, stored: Collection[str]) -> bool:
    """Whether a tensor is one of floats that a device stores in half precision."""
    return tensor.name in stored and tensor.dtype == "float32" and not tensor.variable


def _has_weights(op: Op) -> bool:
    """Whether an operator reads constants that kernels store in half precision.

    It must have no state, as a second one with other constants would change it, too.
    """
    if len(op.outputs) > 1 or op.output.dtype != "float32" or any(t.variable for t in op.reads):
        return False
    weights = [tensor for tensor in op.reads if tensor.constant and tensor.dtype == "float32"]
    return any(tensor.elements > 1 for tensor in weights)


def _with_half_weights(op: Op, graph: Graph, exact: Tensor) -> Tensor:
    """The result of an operator with its constants rounded."""
    inputs = [
        constant(f"{tensor.name}/half", _halved(tensor.data))
        if tensor is not None and tensor.data is not None and tensor.dtype == "float32"
        else tensor
        for tensor in op.inputs
    ]
    result = Tensor(f"{exact.name}/half weights", exact.shape)
    graph.add(Op(op.name, inputs, (result,), op.attrs))
    return result


def _halved(values: Array) -> Array:
    """Floats as half precision has them, which are infinite beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def _rounded(graph: Graph, exact: Tensor) -> Tensor:
    """A tensor rounded to half precision."""
    half = Tensor(f"{exact.name}/half", exact.shape, "float16")
    result = Tensor(f"{exact.name}/rounded", exact.shape)
    graph.add(Op("CAST", (exact,), (half,)))
    graph.add(Op("CAST", (half,), (result,)))
    return result
