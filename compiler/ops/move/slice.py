"""SLICE, STRIDED_SLICE, SPLIT and SPLIT_V: parts of a tensor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Array, Op, Shape
from ..base.shapes import normalize_axis
from ..base.traits import Permutable, Traits, always, among_operands
from .affine_moves import Axis, Move
from .move import define_move

SLICES = frozenset(["SLICE", "STRIDED_SLICE"])


def _slice(op: Op) -> list[range]:
    shape = op.operand(0).shape
    begins, sizes = op.integers(1), op.integers(2)
    if len(begins) != len(shape) or len(sizes) != len(shape):
        raise op.invalid(
            f"begin {begins} and size {sizes} must have an entry for each axis of {list(shape)}"
        )
    taken = []
    for begin, size, extent in zip(begins, sizes, shape, strict=True):
        count = extent - begin if size == -1 else size
        if begin < 0 or count < 0 or begin + count > extent:
            raise op.invalid(f"begin {begins} and size {sizes} exceed {list(shape)}")
        taken.append(range(begin, begin + count))
    return taken


def _infer_slice(op: Op) -> list[Shape]:
    """The sizes, from wherever the slice begins (ModelError)."""
    if op.operand(1).constant:
        return [_moved(_slice(op)).shape]
    shape, sizes = op.operand(0).shape, tuple(op.integers(2))
    begin = op.operand(1).shape
    if begin != (len(shape),) or len(sizes) != len(shape) or any(map(int.__gt__, sizes, shape)):
        raise op.invalid(f"begin {list(begin)} and size {list(sizes)} do not fit {list(shape)}")
    if min(sizes, default=0) < 0:
        op.constant(1)  # the rest of an axis, from a computed place on
    return [sizes]


def _moved(ranges: Sequence[range]) -> Move:
    axes = tuple(Axis(i, part.start, part.step) for i, part in enumerate(ranges))
    return Move(tuple(map(len, ranges)), axes)


@dataclass(frozen=True)
class _Strided:
    """A resolved STRIDED_SLICE."""

    ranges: list[range]  # What is taken along each axis of the input.
    shape: Shape
    axes: Mapping[int, int]  # The axis of which each entry takes a part.
    # The entries that take one place and drop its axis, each with that axis.
    singles: tuple[tuple[int, int], ...]


def _strided(op: Op) -> _Strided:
    """A STRIDED_SLICE at constant places."""
    begin, end, strides = (op.constant(i) for i in (1, 2, 3))
    return _resolved(op, begin, end, strides)


def strided_at_computed(op: Op) -> _Strided:
    """A STRIDED_SLICE whose begin and end are computed, as if each single place were the first.

    ModelError if other entries need them: how many numbers they take is not known then.
    """
    strides, masks = op.constant(3), _masks(op)
    free = masks["begin"] & masks["end"] | masks["ellipsis"] | masks["new_axis"]
    if (free | masks["shrink_axis"]) & (1 << strides.size) - 1 != (1 << strides.size) - 1:
        op.constant(1)
        op.constant(2)
    return _resolved(op, np.zeros(op.operand(1).shape), np.ones(op.operand(2).shape), strides)


def _masks(op: Op) -> dict[str, int]:
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    return {name: int(op.attrs.get(f"{name}_mask", 0)) for name in names}


def _resolved(op: Op, begin: Array, end: Array, strides: Array) -> _Strided:
    """The begin, end and stride entries resolved against the masks, which have a bit per entry.

    As in LiteRT, and unlike numpy, an ellipsis covers at least one axis if any is left; entries
    after it that have no axis left are ignored.
    """
    shape = op.operand(0).shape
    entries = [tuple(int(v) for v in array.reshape(-1)) for array in (begin, end, strides)]
    if len({len(entry) for entry in entries}) != 1:
        raise op.invalid("begin, end and strides differ in length")
    masks = _masks(op)
    count = len(entries[0])
    added = sum(1 for i in range(count) if masks["new_axis"] >> i & 1)
    ranges: list[range] = []
    result: list[int] = []
    axes: dict[int, int] = {}
    singles: list[tuple[int, int]] = []
    for i in range(count):
        bit = {name: mask >> i & 1 for name, mask in masks.items()}
        if bit["ellipsis"]:
            later_added = sum(1 for j in range(i + 1, count) if masks["new_axis"] >> j & 1)
            covered = max(len(shape) - len(ranges) - (count - i - 1 - later_added), 1)
            for extent in shape[len(ranges) : len(ranges) + covered]:
                ranges.append(range(extent))
                result.append(extent)
        elif bit["new_axis"]:
            result.append(1)
        else:
            if len(ranges) >= len(shape):
                if masks["ellipsis"] & (1 << i) - 1:
                    continue
                raise op.invalid(f"{count - added} entries are more than the axes of {list(shape)}")
            axes[i] = len(ranges)
            part = _resolve(op, shape[axes[i]], [entry[i] for entry in entries], bit)
            if bit["shrink_axis"]:
                singles.append((i, axes[i]))
            else:
                result.append(len(part))
            ranges.append(part)
    for extent in shape[len(ranges) :]:
        ranges.append(range(extent))
        result.append(extent)
    return _Strided(ranges, tuple(result), axes, tuple(singles))


def _resolve(op: Op, extent: int, entry: Sequence[int], bit: dict[str, int]) -> range:
    """The range along one axis: negative entries count from the end, and the rest is clamped."""
    begin, end, step = entry
    if step == 0:
        raise op.invalid("a stride is 0")
    if bit["shrink_axis"]:
        start = begin + extent if begin < 0 else begin
        if not 0 <= start < extent:
            raise op.invalid(f"index {begin} is out of range for an axis of {extent}")
        return range(start, start + 1)
    first, last = (None if bit["begin"] else begin), (None if bit["end"] else end)
    if op.attrs.get("offset", False):
        last = begin + end  # LiteRT ignores the mask then
    return range(*slice(first, last, step).indices(extent))


def axes_of_entries(op: Op) -> Mapping[int, int]:
    """The axis of which each entry of a STRIDED_SLICE at constant places takes a part."""
    return _strided(op).axes


def ranges(op: Op) -> list[range]:
    """The entries that a SLICE or STRIDED_SLICE takes along each axis of its input."""
    return _slice(op) if op.name == "SLICE" else _strided(op).ranges


def _split_sizes(op: Op) -> tuple[int, list[int]]:
    """The axis and the sizes of the parts; SPLIT has the axis as input 0, SPLIT_V as input 2."""
    if op.name == "SPLIT":
        shape = op.operand(1).shape
        axis = normalize_axis(op, int(op.number(0)), len(shape))
        parts = len(op.results)
        if shape[axis] % parts:
            raise op.invalid(
                f"axis {axis} of {list(shape)} does not divide into {parts} equal parts"
            )
        return axis, [shape[axis] // parts] * parts
    shape = op.operand(0).shape
    axis = normalize_axis(op, int(op.number(2)), len(shape))
    sizes = op.integers(1)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = shape[axis] - sum(size for size in sizes if size != -1)
    if min(sizes, default=-1) < 0 or sum(sizes) != shape[axis] or len(sizes) != len(op.results):
        raise op.invalid(
            f"sizes {sizes} do not divide axis {axis} of {list(shape)} into {len(op.results)} "
            f"outputs"
        )
    return axis, sizes


def _split(op: Op) -> list[Move]:
    axis, sizes = _split_sizes(op)
    shape = op.operand(1 if op.name == "SPLIT" else 0).shape
    moves, start = [], 0
    for size in sizes:
        ranges = [range(extent) for extent in shape]
        ranges[axis] = range(start, start + size)
        moves.append(_moved(ranges))
        start += size
    return moves


def _keeps_axes(op: Op) -> bool:
    """Whether the output of a STRIDED_SLICE has the same axes as its input."""
    masks = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    return not any(op.attrs.get(mask) for mask in masks)


define_move(
    "SLICE x:T begin:integer size:integer -> y:T",
    lambda op: [_moved(_slice(op))],
    _infer_slice,
    versions=8,
    traits=Traits(
        always,
        permutable=Permutable(per_axis=(1, 2), unit=(0, 1)),
        aliases=True,
        range=among_operands,
    ),
)
define_move(
    "STRIDED_SLICE x:T begin:integer end:integer strides:integer -> y:T",
    lambda op: [_moved(_strided(op).ranges)],
    lambda op: [(_strided if op.operand(1).constant else strided_at_computed)(op).shape],
    versions=8,
    traits=Traits(
        identity=lambda op: not (op.constant(3) < 0).any(),
        permutable=Permutable(
            per_axis=(1, 2, 3), bits=("begin_mask", "end_mask"), condition=_keeps_axes
        ),
        aliases=True,
        range=among_operands,
    ),
)
define_move(
    "SPLIT axis:integer x:T -> y:T*",
    _split,
    source=1,
    versions=5,
    traits=Traits(
        always,
        passes=1,
        permutable=Permutable(images=(1,), axes=0),
        aliases=True,
        range=among_operands,
    ),
)
define_move(
    "SPLIT_V x:T sizes:integer axis:integer -> y:T*",
    _split,
    versions=3,
    traits=Traits(always, permutable=Permutable(axes=2), aliases=True, range=among_operands),
)
