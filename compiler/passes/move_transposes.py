"""Transposes around operators that work in any order of axes cancel.

    a = TRANSPOSE(x) perm=p   b = TRANSPOSE(z) perm=p   t = ADD(a, b)   y = TRANSPOSE(t) perm=q
    becomes   y = ADD(x, z)                                     where q undoes p

Networks made for channels first are converted that way: a transpose before and behind each
convolution. Operators that touch and can run in either order are taken as a whole: what they read
and what reads them is transposed where it is not yet, or no longer where it was. That is done where
fewer bytes are transposed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..devices import Profile
from ..ir import Array, Graph, Op, Shape, Tensor, constant
from ..ops.concat import concat_axis
from ..ops.elementwise import ELEMENTWISE
from ..ops.pad import paddings
from ..ops.reduce import REDUCTIONS, axes
from ..ops.transpose import permutation
from .rewrite import Event, check, describe

RULE = "move_transposes"

PADS = frozenset(["PAD", "PADV2"])


def move_transposes(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to the operators behind each transpose."""
    events = []
    tried: set[tuple[Op, tuple[int, ...]]] = set()
    for op in graph.ops:
        if op not in graph or op.name != "TRANSPOSE":
            continue
        order = tuple(permutation(op))
        start = next((r for r in graph.consumers(op.output) if _indifferent(r)), None)
        if start is None or (start, order) in tried:
            continue
        region = _region(graph, start)
        tried |= {(step, order) for step in region}
        border = _Border(graph, region, order)
        before, after = border.cost()
        names = (describe(op), *(describe(step) for step in region))
        reason = None
        if after < before:
            border.apply()
            check(graph, RULE)
        else:
            reason = f"{after} values instead of {before} would be transposed"
        events.append(Event(RULE, names, reason))
    return events


def _indifferent(op: Op) -> bool:
    """Whether an operator can run with its axes in any order."""
    if op.post or len(op.outputs) != 1 or any(t.quantization for t in (*op.reads, op.output)):
        return False
    rank = len(op.output.shape)
    if op.name in ELEMENTWISE:
        return all(t.elements == 1 or t.constant or len(t.shape) == rank for t in op.reads)
    if op.name in REDUCTIONS:
        return bool(op.attrs.get("keep_dims")) and op.operand(1).constant
    return op.name == "CONCATENATION" or (op.name in PADS and op.operand(1).constant)


def _images(op: Op) -> Iterator[tuple[int, Tensor]]:
    """The inputs that have the axes of the output, with their positions."""
    rank = len(op.output.shape)
    whole = op.name in ELEMENTWISE or op.name == "CONCATENATION"
    for position, tensor in enumerate(op.inputs if whole else op.inputs[:1]):
        if tensor is not None and (tensor.elements > 1 or len(tensor.shape) == rank):
            yield position, tensor


def _region(graph: Graph, start: Op) -> dict[Op, None]:
    """The operators without an order of axes that touch, in order."""
    found = {start}
    waiting = [start]
    while waiting:
        op = waiting.pop()
        producers = [graph.producer(tensor) for _, tensor in _images(op)]
        for other in (*producers, *graph.consumers(op.output)):
            if other is not None and other not in found and _joins(graph, op, other):
                found.add(other)
                waiting.append(other)
    return dict.fromkeys(sorted(found, key=lambda op: op.index))


def _joins(graph: Graph, op: Op, other: Op) -> bool:
    if not _indifferent(other) or len(other.output.shape) != len(op.output.shape):
        return False
    links = [tensor for _, tensor in (*_images(op), *_images(other))]
    return any(tensor is op.output or tensor is other.output for tensor in links)


@dataclass
class _Border:
    """What a region reads and gives away, and the order its axes have got from transposes."""

    graph: Graph
    region: dict[Op, None]
    order: tuple[int, ...]
    inputs: list[Tensor] = field(default_factory=list)
    """What it reads and does not compute."""
    outputs: list[Tensor] = field(default_factory=list)
    """What it computes and others read."""

    def __post_init__(self) -> None:
        inside = {op.output for op in self.region}
        read = dict.fromkeys(t for op in self.region for _, t in _images(op) if t not in inside)
        self.inputs = [tensor for tensor in read if not tensor.constant]
        for op in self.region:
            others = [r for r in self.graph.consumers(op.output) if r not in self.region]
            if others or self.graph.is_output(op.output):
                self.outputs.append(op.output)

    @property
    def undone(self) -> tuple[int, ...]:
        """The order that takes the transposes back."""
        return tuple(int(axis) for axis in np.argsort(self.order))

    def _source(self, tensor: Tensor) -> Op | None:
        """The transpose in this order, of what the region does not compute, that gives a tensor."""
        op = self.graph.producer(tensor)
        if op is None or op.name != "TRANSPOSE" or tuple(permutation(op)) != self.order:
            return None
        return None if self.graph.producer(op.operand(0)) in self.region else op

    def _back(self, tensor: Tensor) -> tuple[list[Op], bool]:
        """The transposes that turn a tensor back, and whether others read it as it is."""
        readers = [r for r in self.graph.consumers(tensor) if r not in self.region]
        back = [
            r for r in readers if r.name == "TRANSPOSE" and tuple(permutation(r)) == self.undone
        ]
        return back, len(back) < len(readers) or self.graph.is_output(tensor)

    def cost(self) -> tuple[int, int]:
        """Values that are transposed around the region: now, and in the other order."""
        before = after = 0
        for tensor in self.inputs:
            readers = self.graph.consumers(tensor)
            if self._source(tensor) is None:
                after += _values(tensor, self.undone)
            elif set(readers) <= self.region.keys() and not self.graph.is_output(tensor):
                before += _values(tensor, self.undone)
        for tensor in self.outputs:
            back, others = self._back(tensor)
            before += len(back) * _values(tensor, self.undone)
            after += _values(tensor, self.undone) if others else 0
        return before, after

    def apply(self) -> None:
        """Compute the region in the order its transposes started from."""
        behind = {tensor: self._back(tensor) for tensor in self.outputs}
        moved = {tensor: self._moved(tensor) for tensor in self.inputs}
        for op in self.region:
            shape = self._shape(op.output.shape)
            moved[op.output] = Tensor(f"{op.output.name}/turned", shape, op.output.dtype)
        for op in self.region:
            self._turn(op, moved)
        for tensor, (back, others) in behind.items():
            for op in back:
                self.graph.replace(op.output, moved[tensor])
                self.graph.remove(op)
            if others:
                producer = self.graph.producer(moved[tensor])
                assert producer is not None
                self._transpose(moved[tensor], tensor, self.order, producer.index)
        for tensor in self.inputs:
            source = self._source(tensor)
            needed = self.graph.consumers(tensor) or self.graph.is_output(tensor)
            if source is not None and not needed:
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
        """What a tensor that is read was before it was transposed."""
        op = self._source(tensor)
        if op is not None:
            return op.operand(0)
        producer = self.graph.producer(tensor)
        result = Tensor(f"{tensor.name}/turned", self._shape(tensor.shape), tensor.dtype)
        return self._transpose(tensor, result, self.undone, producer.index if producer else -1)

    def _turn(self, op: Op, moved: dict[Tensor, Tensor]) -> None:
        """Let an operator of the region read and write turned tensors."""
        inputs = list(op.inputs)
        for position, tensor in _images(op):
            turned = moved.get(tensor)
            inputs[position] = turned or constant(
                f"{tensor.name}/turned", self._content(tensor, len(op.output.shape))
            )
        if op.name == "CONCATENATION":
            op.attrs = {**op.attrs, "axis": self.order[concat_axis(op)]}
        elif op.name in PADS:
            table = np.array(paddings(op), np.int32)[list(self.undone)]
            inputs[1] = constant(f"{op.output.name}/paddings", table)
        elif op.name in REDUCTIONS:
            reduced = np.array([self.order[axis] for axis in axes(op)], np.int32)
            inputs[1] = constant(f"{op.output.name}/axes", reduced)
        result = moved[op.output]
        self.graph.set_outputs(op, (result,))
        self.graph.set_inputs(op, inputs)

    def _content(self, tensor: Tensor, rank: int) -> Array:
        """A constant in the other order, with all the axes of what it broadcasts to."""
        assert tensor.data is not None
        whole = tensor.data.reshape((1,) * (rank - len(tensor.shape)) + tensor.shape)
        return np.ascontiguousarray(whole.transpose(self.undone))


def _values(tensor: Tensor, order: tuple[int, ...]) -> int:
    """How many values a transpose of a tensor moves; none if only axes of size 1 move."""
    several = [axis for axis in order if tensor.shape[axis] > 1]
    return 0 if several == sorted(several) else tensor.elements
