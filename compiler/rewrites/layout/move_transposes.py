"""Transposes around operators that can run with their axes in any order are cancelled.

    a = TRANSPOSE(x) perm=p   b = TRANSPOSE(z) perm=p   t = ADD(a, b)   y = TRANSPOSE(t) perm=q
    becomes   y = ADD(x, z)                                     where q is the inverse of p

Networks converted from channels-first frameworks have transposes before and after each convolution.
Connected operators that can run with permuted axes form a region. Permuting the whole region
removes the transposes at its border that already permute, and adds transposes elsewhere at the
border. It is done if fewer values are transposed afterwards, or as many by fewer operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops.move.transpose import permutation
from ...ops.reduce.lines import SHORT_LINE
from ...ops.reduce.reduce import REDUCTIONS
from ...ops.reduce.softmax import softmax_axis
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .border import Border, Region, connected
from .fold_transposes import keeps_order
from .permutable import images, is_permutable, permuted_attrs, permuted_constants


@graph_rewrite()
def move_transposes(graph: Graph, target: Target) -> Attempts:
    """Until nothing improves: a region that was permuted may now be next to another transpose."""
    moved = True
    while moved:
        moved, declined = False, []
        for attempt, border in _candidates(graph, target.lanes):
            if attempt.declined is not None:
                declined.append(attempt)
                continue
            moved = True
            yield attempt
            border.apply()
    for attempt in declined:  # not `yield from`: a list takes no answers
        yield attempt


def _candidates(graph: Graph, lanes: int) -> Iterator[tuple[Attempt, _Border]]:
    """The regions that read a transpose or that a transpose reads, with their borders."""
    tried: set[tuple[Op, tuple[int, ...]]] = set()
    for op in graph.ops:
        if op not in graph or op.name != "TRANSPOSE":
            continue
        order = permutation(op)
        following = [(start, order) for start in graph.consumers(op.output)]
        before = graph.producer(op.operand(0))
        for start, axes in (*following, (before, np.argsort(order).tolist())):
            permuted = tuple(int(axis) for axis in axes)
            if op not in graph:
                break
            if start is None or start not in graph or not is_permutable(start):
                continue
            if (start, permuted) in tried:
                continue
            region = _region(graph, start, permuted)
            tried |= {(step, permuted) for step in region}
            border = _Border(graph, region, permuted, lanes)
            now, after = border.cost()
            reason = f"{after.values} values instead of {now.values} would be transposed"
            yield Attempt((op, *region), reason if after >= now else None), border


def _region(graph: Graph, start: Op, order: tuple[int, ...]) -> Region:
    """The permutable operators connected to `start`, directly or by reading the same transpose."""

    def near(op: Op) -> list[Op]:
        before = graph.producers(tensor for _, tensor in images(op))
        sources = [other.output for other in before if _transposes_to(other, order)]
        after = [reader for t in (*op.outputs, *sources) for reader in graph.consumers(t)]
        return [other for other in (*before, *after) if _joins(op, other)]

    return connected([start], near)


def _transposes_to(op: Op, order: tuple[int, ...]) -> bool:
    """Whether an operator is a transpose with the permutation `order`."""
    return op.name == "TRANSPOSE" and tuple(permutation(op)) == order


def _joins(op: Op, other: Op) -> bool:
    if not is_permutable(other) or len(other.output.shape) != len(op.output.shape):
        return False
    touched = ({*step.outputs, *(tensor for _, tensor in images(step))} for step in (op, other))
    return bool(set.intersection(*touched))


@dataclass(frozen=True, order=True)
class _Cost:
    """What transposes cost; fewer values come first, then fewer transposes."""

    values: int  # Values that they move.
    transposes: int  # How many there are.

    @classmethod
    def of(cls, moved: list[int]) -> _Cost:
        return cls(sum(moved), len(moved))


class _Border(Border):
    """The border of a region with permuted axes, which `apply` frees from the permutation."""

    def __init__(self, graph: Graph, region: Region, order: tuple[int, ...], lanes: int) -> None:
        super().__init__(graph, region)
        self.order, self._lanes = order, lanes
        self.undone = tuple(int(axis) for axis in np.argsort(order))  # The inverse of `order`.

    def _source(self, tensor: Tensor) -> Op | None:
        """The transpose by `order` that computes a tensor, if its input is outside the region."""
        op = self.graph.producer(tensor)
        if op is None or not _transposes_to(op, self.order):
            return None
        return None if self.graph.producer(op.operand(0)) in self.region else op

    def cost(self) -> tuple[_Cost, _Cost]:
        """The cost of the transposes at the border, now and after `apply`."""
        before: list[int] = []
        after: list[int] = []
        for tensor in self.inputs:
            source = self._source(tensor)
            if source is None:
                after += [] if tensor.constant else [_values(tensor, self.undone)]
            elif not self._needed_besides(source):
                before.append(_values(tensor, self.undone))
        for tensor in self.outputs:
            back, others = self.readers(tensor)
            before += len(back) * [_values(tensor, self.undone)]
            after += [_values(tensor, self.undone)] if others else []
        after += 2 * [op.output.elements for op in self.region if self._is_slow(op)]
        return _Cost.of(before), _Cost.of(after)

    def _is_slow(self, op: Op) -> bool:
        """Whether a softmax over long lines, in rows below a slice, costs more than transposing."""
        if op.name != "SOFTMAX":
            return False
        axis, last = softmax_axis(op), self.undone[-1]
        shape = op.output.shape
        return axis != last and shape[last] < self._lanes and shape[axis] > SHORT_LINE

    def _needed_besides(self, source: Op) -> bool:
        """Whether a transpose would stay because it is read outside the region.

        Transposes and reductions do not count, as later rewrites let them read its input instead.
        """
        others = [r for r in self.graph.consumers(source.output) if r not in self.region]
        return self.graph.is_output(source.output) or not all(
            r.name == "TRANSPOSE" or (r.name in REDUCTIONS and keeps_order(source, r))
            for r in others
        )

    def like(self, tensor: Tensor) -> Tensor:
        shape = tuple(tensor.shape[axis] for axis in self.undone)
        return Tensor(f"{tensor.name}/turned", shape, tensor.dtype)

    def moved(self, tensor: Tensor) -> Tensor:
        """A constant, a transpose's input, or a new tensor."""
        if tensor.data is not None:
            rank = len(self.order)
            whole = tensor.data.reshape((1,) * (rank - len(tensor.shape)) + tensor.shape)
            content = np.ascontiguousarray(whole.transpose(self.undone))
            return constant(f"{tensor.name}/turned", content)
        source = self._source(tensor)
        if source is not None:
            return source.operand(0)
        return self._transpose(tensor, self.like(tensor), self.undone)

    def adapt(self, op: Op, inputs: list[Tensor | None]) -> None:
        for position, content in permuted_constants(op, self.order).items():
            inputs[position] = content
        op.attrs = permuted_attrs(op, self.order)

    def moves_back(self, reader: Op, tensor: Tensor) -> bool:
        return _transposes_to(reader, self.undone)

    def skip(self, reader: Op, moved: Tensor) -> None:
        self.graph.replace(reader.output, moved)
        self.graph.remove(reader)

    def move_back(self, moved: Tensor, tensor: Tensor) -> None:
        self._transpose(moved, tensor, self.order)

    def _transpose(self, source: Tensor, result: Tensor, order: tuple[int, ...]) -> Tensor:
        axes = constant(f"{result.name}/order", np.array(order, np.int32))
        return self.convert("TRANSPOSE", source, result, axes)


def _values(tensor: Tensor, order: tuple[int, ...]) -> int:
    """The number of values that a transpose moves; 0 if it only moves axes of size 1."""
    several = [axis for axis in order if tensor.shape[axis] > 1]
    return 0 if several == sorted(several) else tensor.elements
