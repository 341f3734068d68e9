"""Operators that compute the same with their axes in another order, and how they look then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...ir import Array, Op, Tensor, constant
from ...ops.concat import concat_axis
from ...ops.elementwise import ELEMENTWISE
from ...ops.reduce import REDUCTIONS, axes
from ...ops.softmax import softmax_axis

TABLES: Mapping[str, tuple[int, ...]] = {
    "MIRROR_PAD": (1,),
    "PAD": (1,),
    "PADV2": (1,),
    "SLICE": (1, 2),
    "STRIDED_SLICE": (1, 2, 3),
    "TILE": (1,),
}
"""Operators with constants that have an entry for each axis, and which inputs these are."""

AXIS_INPUT = {"SPLIT": 0, "SPLIT_V": 2}
"""Operators with a constant that is their axis, and which input it is."""

MASKS = ("begin_mask", "end_mask")
"""Attributes of STRIDED_SLICE with a bit for each axis."""
OTHER_MASKS = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
"""Those with which its axes are no longer those of its input."""


def indifferent(op: Op) -> bool:
    """Whether an operator can run with its axes in any order."""
    if op.post or any(t.quantization for t in (*op.reads, *op.outputs)):
        return False
    rank = len(op.output.shape)
    if op.name in ELEMENTWISE:
        return all(t.elements == 1 or t.constant or len(t.shape) == rank for t in op.reads)
    if op.name in REDUCTIONS:
        return bool(op.attrs.get("keep_dims")) and op.operand(1).constant
    if op.name in TABLES:
        tables = [op.operand(position) for position in TABLES[op.name]]
        one_each = all(table.constant and table.shape[:1] == (rank,) for table in tables)
        return one_each and not any(op.attrs.get(mask) for mask in OTHER_MASKS)
    if op.name in AXIS_INPUT:
        return op.operand(AXIS_INPUT[op.name]).constant
    return op.name in ("CONCATENATION", "SOFTMAX")


def images(op: Op) -> Iterator[tuple[int, Tensor]]:
    """The inputs that have the axes of the output, with their positions."""
    rank = len(op.output.shape)
    if op.name == "SPLIT":
        yield 1, op.operand(1)
        return
    whole = op.name in ELEMENTWISE or op.name == "CONCATENATION"
    for position, tensor in enumerate(op.inputs if whole else op.inputs[:1]):
        if tensor is not None and (tensor.elements > 1 or len(tensor.shape) == rank):
            yield position, tensor


def turned_attrs(op: Op, order: Sequence[int]) -> dict[str, Any]:
    """The attributes where axis `order[a]` of an operator is what axis a was."""
    if op.name == "CONCATENATION":
        return {**op.attrs, "axis": order[concat_axis(op)]}
    if op.name == "SOFTMAX":
        return {**op.attrs, "axis": order[softmax_axis(op)]}
    if op.name == "STRIDED_SLICE":
        moved = {name: _moved_bits(int(op.attrs.get(name, 0)), order) for name in MASKS}
        return {**op.attrs, **moved}
    return op.attrs


def turned_constants(op: Op, order: Sequence[int]) -> dict[int, Tensor]:
    """The inputs that name axes or have an entry for each, by position, in the same order."""
    back = np.argsort(order)
    contents: dict[int, Array] = {}
    for position in TABLES.get(op.name, ()):
        contents[position] = op.constant(position)[back]
    if op.name in REDUCTIONS:
        contents[1] = np.array([order[axis] for axis in axes(op)], np.int32)
    if op.name in AXIS_INPUT:
        axis = op.constant(AXIS_INPUT[op.name])
        contents[AXIS_INPUT[op.name]] = np.asarray(order, axis.dtype)[axis]
    return {
        position: constant(f"{op.output.name}/input{position}", content)
        for position, content in contents.items()
    }


def _moved_bits(mask: int, order: Sequence[int]) -> int:
    return sum(1 << order[axis] for axis in range(len(order)) if mask >> axis & 1)
