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
from dataclasses import dataclass, field

import numpy as np

from ...ir import Array, Graph, Op, Shape, Tensor, constant
from ...ops.reduce import REDUCTIONS
from ...ops.transpose import permutation
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .fold_transposes import keeps_order
from .permutable import images, is_permutable, permuted_attrs, permuted_constants


@graph_rewrite()
def move_transposes(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Until nothing improves: a region that was permuted may now be next to another transpose."""
    moved = True
    while moved:
        moved, declined = False, []
        for attempt, border in _candidates(graph):
            if attempt.declined is not None:
                declined.append(attempt)
                continue
            moved = True
            yield attempt
            border.apply()
    yield from declined


def _candidates(graph: Graph) -> Iterator[tuple[Attempt, _Border]]:
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
            border = _Border(graph, region, permuted)
            now, after = border.cost()
            reason = f"{after.values} values instead of {now.values} would be transposed"
            yield Attempt((op, *region), reason if after >= now else None), border


def _region(graph: Graph, start: Op, order: tuple[int, ...]) -> dict[Op, None]:
    """The permutable operators connected to `start`, directly or by reading the same transpose."""
    found = {start: None}
    waiting = [start]
    while waiting:
        op = waiting.pop()
        near = [graph.producer(tensor) for _, tensor in images(op)]
        sources = [other for other in near if other is not None and _transposes_to(other, order)]
        for tensor in (*op.outputs, *(source.output for source in sources)):
            near += graph.consumers(tensor)
        for other in near:
            if other is not None and other not in found and _joins(op, other):
                found[other] = None
                waiting.append(other)
    return dict.fromkeys(sorted(found, key=lambda op: op.index))


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

    values: int
    """Values that they move."""
    transposes: int
    """How many there are."""

    @classmethod
    def of(cls, moved: list[int]) -> _Cost:
        return cls(sum(moved), len(moved))


@dataclass
class _Border:
    """The border of a region, and the permutation its axes currently have."""

    graph: Graph
    region: dict[Op, None]
    order: tuple[int, ...]
    """The permutation from which `apply` frees the region."""
    inputs: list[Tensor] = field(default_factory=list)
    """Tensors that it reads but does not compute, constants excluded."""
    outputs: list[Tensor] = field(default_factory=list)
    """Tensors that it computes and that are used elsewhere."""

    def __post_init__(self) -> None:
        inside = {tensor for op in self.region for tensor in op.outputs}
        read = dict.fromkeys(t for op in self.region for _, t in images(op) if t not in inside)
        self.inputs = [tensor for tensor in read if not tensor.constant]
        for tensor in (tensor for op in self.region for tensor in op.outputs):
            others = [r for r in self.graph.consumers(tensor) if r not in self.region]
            if others or self.graph.is_output(tensor):
                self.outputs.append(tensor)

    @property
    def undone(self) -> tuple[int, ...]:
        """The inverse of `order`."""
        return tuple(int(axis) for axis in np.argsort(self.order))

    def _source(self, tensor: Tensor) -> Op | None:
        """The transpose by `order` that computes a tensor, if its input is outside the region."""
        op = self.graph.producer(tensor)
        if op is None or not _transposes_to(op, self.order):
            return None
        return None if self.graph.producer(op.operand(0)) in self.region else op

    def _back(self, tensor: Tensor) -> tuple[list[Op], bool]:
        """The readers that transpose a tensor back, and whether it is also read as it is."""
        readers = [r for r in self.graph.consumers(tensor) if r not in self.region]
        back = [reader for reader in readers if _transposes_to(reader, self.undone)]
        return back, len(back) < len(readers) or self.graph.is_output(tensor)

    def cost(self) -> tuple[_Cost, _Cost]:
        """The cost of the transposes at the border, now and after `apply`."""
        before: list[int] = []
        after: list[int] = []
        for tensor in self.inputs:
            source = self._source(tensor)
            if source is None:
                after.append(_values(tensor, self.undone))
            elif not self._needed_besides(source):
                before.append(_values(tensor, self.undone))
        for tensor in self.outputs:
            back, others = self._back(tensor)
            before += len(back) * [_values(tensor, self.undone)]
            after += [_values(tensor, self.undone)] if others else []
        return _Cost.of(before), _Cost.of(after)

    def _needed_besides(self, source: Op) -> bool:
        """Whether a transpose would stay because it is read outside the region.

        Transposes and reductions do not count, as later rewrites let them read its input instead.
        """
        others = [r for r in self.graph.consumers(source.output) if r not in self.region]
        return self.graph.is_output(source.output) or not all(
            r.name == "TRANSPOSE" or (r.name in REDUCTIONS and keeps_order(source, r))
            for r in others
        )

    def apply(self) -> None:
        """Let the region compute without the permutation `order`."""
        following = {tensor: self._back(tensor) for tensor in self.outputs}
        moved = {tensor: self._moved(tensor) for tensor in self.inputs}
        for tensor in (tensor for op in self.region for tensor in op.outputs):
            shape = self._shape(tensor.shape)
            moved[tensor] = Tensor(f"{tensor.name}/turned", shape, tensor.dtype)
        for op in self.region:
            self._permute(op, moved)
        for tensor, (back, others) in following.items():
            for op in back:
                self.graph.replace(op.output, moved[tensor])
                self.graph.remove(op)
            if others:
                producer = self.graph.producer(moved[tensor])
                assert producer is not None
                self._transpose(moved[tensor], tensor, self.order, producer.index)
        for tensor in self.inputs:
            source = self._source(tensor)
            if source is not None and not self.graph.is_used(tensor):
                self.graph.remove(source)

    def _shape(self, shape: Shape) -> Shape:
        return tuple(shape[axis] for axis in self.undone)

    def _transpose(
        self, source: Tensor, result: Tensor, order: tuple[int, ...], index: int
    ) -> Tensor:
        axes = constant(f"{result.name}/order", np.array(order, np.int32))
        self.graph.add(Op("TRANSPOSE", (source, axes), (result,), {}, index))
        return result

    def _moved(self, tensor: Tensor) -> Tensor:
        """An input of the region without the permutation: a transpose's input, or a new tensor."""
        op = self._source(tensor)
        if op is not None:
            return op.operand(0)
        producer = self.graph.producer(tensor)
        result = Tensor(f"{tensor.name}/turned", self._shape(tensor.shape), tensor.dtype)
        index = producer.index if producer else next(iter(self.region)).index
        return self._transpose(tensor, result, self.undone, index)

    def _permute(self, op: Op, moved: dict[Tensor, Tensor]) -> None:
        """Let an operator of the region read and write the tensors in `moved`."""
        inputs = list(op.inputs)
        for position, tensor in images(op):
            permuted = moved.get(tensor)
            inputs[position] = permuted or constant(
                f"{tensor.name}/turned", self._content(tensor, len(op.output.shape))
            )
        for position, content in permuted_constants(op, self.order).items():
            inputs[position] = content
        op.attrs = permuted_attrs(op, self.order)
        self.graph.set_outputs(op, [moved[tensor] for tensor in op.outputs])
        self.graph.set_inputs(op, inputs)

    def _content(self, tensor: Tensor, rank: int) -> Array:
        """A constant of rank `rank` without the permutation."""
        assert tensor.data is not None
        whole = tensor.data.reshape((1,) * (rank - len(tensor.shape)) + tensor.shape)
        return np.ascontiguousarray(whole.transpose(self.undone))


def _values(tensor: Tensor, order: tuple[int, ...]) -> int:
    """The number of values that a transpose moves; 0 if it only moves axes of size 1."""
    several = [axis for axis in order if tensor.shape[axis] > 1]
    return 0 if several == sorted(several) else tensor.elements
