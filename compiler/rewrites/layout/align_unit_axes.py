"""What computes with a transpose's axes of size 1 in other places gets them where that has them.

The transposes around elementwise operators and reductions can then cancel.

    t = TRANSPOSE(x[1,1,7,5]) perm=(0,3,1,2)   r = RESHAPE(t[1,5,1,7]) new_shape=(1,5,7)
    m = MEAN(r) axes=(2,) keep_dims   y = SUB(r, m)   z = RESHAPE(y) new_shape=(1,5,1,7)
    becomes   m = MEAN(t) axes=(3,) keep_dims   z = SUB(t, m)

PyTorch's converter writes convolutions of one dimension with images of one row, and what is between
them, such as a group normalization, without that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.elementwise import ELEMENTWISE
from ...ops.reduce import REDUCTIONS, axes
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .permutable import images, is_permutable


@graph_rewrite()
def align_unit_axes(graph: Graph, target: Target) -> Iterator[Attempt]:
    """In the order of execution: what was aligned stands for the transpose after it."""
    aligned: set[Op] = set()
    for reshape in graph.ops:
        if reshape not in graph or reshape.name not in RESHAPES:
            continue
        source = graph.producer(reshape.operand(0))
        if source is None or not (source.name == "TRANSPOSE" or source in aligned):
            continue
        alignment = _Alignment.of(reshape)
        region = _region(graph, reshape, alignment) if alignment else None
        if alignment is None or not region:
            continue
        border = _Border(graph, alignment, region)
        more = border.values()
        yield Attempt((reshape, *region), None if more < 0 else f"{more} more values are reshaped")
        if more < 0:
            border.apply()
            aligned |= region.keys()


@dataclass(frozen=True)
class _Alignment:
    """Axes of size 1 in other places: from `given` to `wanted`, whose other axes are the same."""

    given: Shape
    wanted: Shape

    @classmethod
    def of(cls, reshape: Op) -> _Alignment | None:
        """From the result of a reshape to its operand; None if other axes change."""
        found = cls(reshape.output.shape, reshape.operand(0).shape)
        several = [[size for size in shape if size > 1] for shape in (found.given, found.wanted)]
        return found if several[0] == several[1] and found.given != found.wanted else None

    def places(self) -> dict[int, int]:
        """For each axis of several entries where it is in `wanted`."""
        before, after = (
            [axis for axis, size in enumerate(shape) if size > 1]
            for shape in (self.given, self.wanted)
        )
        return dict(zip(before, after, strict=True))

    def fits(self, shape: Shape) -> bool:
        """Whether a tensor of this shape broadcasts to `given`, axis by axis."""
        return len(shape) == len(self.given) and all(
            size in (1, whole) for size, whole in zip(shape, self.given, strict=True)
        )

    def shape(self, shape: Shape) -> Shape:
        """The shape of a tensor that fits with its axes in the places of `wanted`."""
        result = [1] * len(self.wanted)
        for axis, place in self.places().items():
            result[place] = shape[axis]
        return tuple(result)


Region = dict[Op, None]
"""Connected operators, in the order of execution."""


def _region(graph: Graph, reshape: Op, alignment: _Alignment) -> Region:
    """The operators connected to a reshape that can be aligned."""
    found: Region = {}
    waiting = graph.consumers(reshape.output)
    while waiting:
        op = waiting.pop()
        if op in found or not _can_align(op, alignment):
            continue
        found[op] = None
        waiting += graph.consumers(op.output)
        producers = (graph.producer(tensor) for _, tensor in images(op))
        waiting += [producer for producer in producers if producer is not None]
    return dict.fromkeys(sorted(found, key=lambda op: op.index))


def _can_align(op: Op, alignment: _Alignment) -> bool:
    if op.name not in ELEMENTWISE and op.name not in REDUCTIONS:
        return False
    if not is_permutable(op) or not alignment.fits(op.output.shape):
        return False
    if op.name in REDUCTIONS and not {*axes(op)} & alignment.places().keys():
        return False
    return all(alignment.fits(tensor.shape) for _, tensor in images(op))


class _Border:
    """What a region reads and what of it is read elsewhere."""

    def __init__(self, graph: Graph, alignment: _Alignment, region: Region) -> None:
        self._graph, self._alignment, self._region = graph, alignment, region
        computed = [op.output for op in region]
        read = dict.fromkeys(tensor for op in region for _, tensor in images(op))
        self._inputs = [tensor for tensor in read if tensor not in computed]
        self._outputs = [tensor for tensor in computed if graph.leaves(tensor, region)]

    def values(self) -> int:
        """How many more values are reshaped after `apply`. Reshapes of reshapes become one."""
        more = 0
        for tensor in self._inputs:
            producer = self._graph.producer(tensor)
            if producer is None or producer.name not in RESHAPES:
                more += 0 if tensor.constant else tensor.elements
            elif self._aligned(tensor, producer.operand(0)):
                more -= 0 if self._graph.leaves(tensor, self._region) else tensor.elements
        for tensor in self._outputs:
            reshapes, others = self._readers(tensor)
            more -= tensor.elements * sum(self._aligned(tensor, op.output) for op in reshapes)
            more += tensor.elements if others else 0
        return more

    def _aligned(self, tensor: Tensor, other: Tensor) -> bool:
        """Whether another tensor has the shape that this one gets."""
        return other.shape == self._alignment.shape(tensor.shape)

    def _readers(self, tensor: Tensor) -> tuple[list[Op], bool]:
        """The reshapes outside that read a tensor, and whether anything else reads it."""
        outside = [op for op in self._graph.consumers(tensor) if op not in self._region]
        reshapes = [op for op in outside if op.name in RESHAPES and op.operand(0) is tensor]
        return reshapes, len(reshapes) < len(outside) or self._graph.is_output(tensor)

    def apply(self) -> None:
        """Let the region compute in the shape that is wanted."""
        readers = {tensor: self._readers(tensor) for tensor in self._outputs}
        moved = {tensor: self._input(tensor) for tensor in self._inputs}
        for op in self._region:
            moved[op.output] = self._like(op.output)
        for op in self._region:
            inputs = list(op.inputs)
            for position, tensor in images(op):
                inputs[position] = moved[tensor]
            if op.name in REDUCTIONS:
                places = self._alignment.places()
                own = np.array([places[a] for a in axes(op) if a in places], np.int32)
                inputs[1] = constant(f"{op.output.name}/axes", own)
            self._graph.set_outputs(op, (moved[op.output],))
            self._graph.set_inputs(op, inputs)
        for tensor, (reshapes, others) in readers.items():
            for op in reshapes:
                if op.output.shape == moved[tensor].shape and not self._graph.is_output(op.output):
                    self._graph.replace(op.output, moved[tensor])
                    self._graph.remove(op)
                    continue
                self._graph.set_inputs(op, (moved[tensor],))
                op.name, op.attrs = "RESHAPE", {"new_shape": op.output.shape}
            if others:
                self._reshape(moved[tensor], tensor)
        for tensor in self._inputs:
            producer = self._graph.producer(tensor)
            if producer is not None and not self._graph.is_used(tensor):
                self._graph.remove(producer)

    def _like(self, tensor: Tensor) -> Tensor:
        shape = self._alignment.shape(tensor.shape)
        return Tensor(f"{tensor.name}/aligned", shape, tensor.dtype)

    def _input(self, tensor: Tensor) -> Tensor:
        """An input in the shape that is wanted: what it was reshaped from, or a new tensor."""
        if tensor.data is not None:
            shape = self._alignment.shape(tensor.shape)
            return constant(f"{tensor.name}/aligned", tensor.data.reshape(shape))
        producer = self._graph.producer(tensor)
        if producer is None or producer.name not in RESHAPES:
            return self._reshape(tensor, self._like(tensor))
        source = producer.operand(0)
        return (
            source if self._aligned(tensor, source) else self._reshape(source, self._like(tensor))
        )

    def _reshape(self, source: Tensor, result: Tensor) -> Tensor:
        producer = self._graph.producer(source)
        index = producer.index if producer else next(iter(self._region)).index
        attrs = {"new_shape": result.shape}
        self._graph.add(Op("RESHAPE", (source,), (result,), attrs, index))
        return result
