"""What computes with a transpose's axes of size 1 in other places gets them where that has them.

The transposes around elementwise operators, reductions, and operators that pad, cut or join can
then cancel.

    t = TRANSPOSE(x[1,1,7,5]) perm=(0,3,1,2)   r = RESHAPE(t[1,5,1,7]) new_shape=(1,5,7)
    m = MEAN(r) axes=(2,) keep_dims   y = SUB(r, m)   z = RESHAPE(y) new_shape=(1,5,1,7)
    becomes   m = MEAN(t) axes=(3,) keep_dims   z = SUB(t, m)

PyTorch's converter writes convolutions of one dimension with images of one row, and what is between
them, such as a group normalization or the padding of a causal one, without that row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.reduce.reduce import REDUCTIONS, axes
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .border import Border, Region, connected
from .permutable import images, is_permutable, permutable


@graph_rewrite()
def align_unit_axes(graph: Graph, target: Target) -> Attempts:
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
        border = _Border(graph, region, alignment)
        more = border.values()
        yield Attempt((reshape, *region), None if more < 0 else f"{more} more values are reshaped")
        if more < 0:
            border.apply()
            aligned.update(region)


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
        """Whether a tensor of this shape has its axes of several entries where `given` has them."""
        places = self.places()
        return len(shape) == len(self.given) and all(
            size == 1 or axis in places for axis, size in enumerate(shape)
        )

    def shape(self, shape: Shape) -> Shape:
        """The shape of a tensor that fits with its axes in the places of `wanted`."""
        result = [1] * len(self.wanted)
        for axis, place in self.places().items():
            result[place] = shape[axis]
        return tuple(result)


def _region(graph: Graph, reshape: Op, alignment: _Alignment) -> Region:
    """The operators connected to a reshape that can be aligned."""

    def alignable(ops: Iterable[Op]) -> list[Op]:
        return [op for op in ops if _can_align(op, alignment)]

    def near(op: Op) -> list[Op]:
        read = (tensor for _, tensor in images(op))
        return alignable((*graph.consumers(op.output), *graph.producers(read)))

    return connected(alignable(graph.consumers(reshape.output)), near)


def _can_align(op: Op, alignment: _Alignment) -> bool:
    if not is_permutable(op) or not alignment.fits(op.output.shape):
        return False
    trait, places = permutable(op), alignment.places()
    if op.name in REDUCTIONS:
        if not {*axes(op)} & places.keys():
            return False
    elif len(trait.unit) < len(trait.per_axis) or trait.bits or trait.axes is not None:
        return False
    if trait.axis is not None and trait.axis(op) not in places:
        return False
    return all(alignment.fits(tensor.shape) for _, tensor in images(op))


class _Border(Border):
    def __init__(self, graph: Graph, region: Region, alignment: _Alignment) -> None:
        super().__init__(graph, region)
        self.alignment = alignment

    def values(self) -> int:
        """How many more values are reshaped after `apply`. Reshapes of reshapes become one."""
        more = 0
        for tensor in self.inputs:
            producer = self.graph.producer(tensor)
            if producer is None or producer.name not in RESHAPES:
                more += 0 if tensor.constant else tensor.elements
            elif self._aligned(tensor, producer.operand(0)):
                more -= 0 if self.graph.leaves(tensor, self.region) else tensor.elements
        for tensor in self.outputs:
            reshapes, others = self.readers(tensor)
            more -= tensor.elements * sum(self._aligned(tensor, op.output) for op in reshapes)
            more += tensor.elements if others else 0
        return more

    def _aligned(self, tensor: Tensor, other: Tensor) -> bool:
        """Whether another tensor has the shape that this one gets."""
        return other.shape == self.alignment.shape(tensor.shape)

    def like(self, tensor: Tensor) -> Tensor:
        shape = self.alignment.shape(tensor.shape)
        return Tensor(f"{tensor.name}/aligned", shape, tensor.dtype)

    def moved(self, tensor: Tensor) -> Tensor:
        """An input in the shape that is wanted: what it was reshaped from, or a new tensor."""
        if tensor.data is not None:
            shape = self.alignment.shape(tensor.shape)
            return constant(f"{tensor.name}/aligned", tensor.data.reshape(shape))
        producer, source = self.graph.producer(tensor), tensor
        if producer is not None and producer.name in RESHAPES:
            source = producer.operand(0)
        return source if self._aligned(tensor, source) else self._reshape(source, self.like(tensor))

    def adapt(self, op: Op, inputs: list[Tensor | None]) -> None:
        trait, places = permutable(op), self.alignment.places()
        if trait.axis is not None:
            op.attrs = {**op.attrs, "axis": places[trait.axis(op)]}
        for position, unit in zip(trait.per_axis, trait.unit, strict=True):
            table = op.constant(position)
            moved = np.full((len(self.alignment.wanted), *table.shape[1:]), unit, table.dtype)
            moved[[*places.values()]] = table[[*places]]
            inputs[position] = constant(f"{op.output.name}/input{position}", moved)
        if op.name in REDUCTIONS:
            own = np.array([places[axis] for axis in axes(op) if axis in places], np.int32)
            inputs[1] = constant(f"{op.output.name}/axes", own)

    def moves_back(self, reader: Op, tensor: Tensor) -> bool:
        return reader.name in RESHAPES and reader.operand(0) is tensor

    def skip(self, reader: Op, moved: Tensor) -> None:
        if reader.output.shape == moved.shape and not self.graph.is_output(reader.output):
            self.graph.replace(reader.output, moved)
            self.graph.remove(reader)
            return
        self.graph.set_inputs(reader, (moved,))
        reader.name, reader.attrs = "RESHAPE", {"new_shape": reader.output.shape}

    def move_back(self, moved: Tensor, tensor: Tensor) -> None:
        self._reshape(moved, tensor)

    def _reshape(self, source: Tensor, result: Tensor) -> Tensor:
        return self.convert("RESHAPE", source, result, new_shape=result.shape)
