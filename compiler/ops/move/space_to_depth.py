"""SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.

They move blocks of pixels to channels or batches, and back. PHASES_TO_SPACE is DEPTH_TO_SPACE with
blocks of `blocks` (rows, columns), of whose pixels those from `crops` on are an image of `size`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...ir import Array, Op, Shape
from ...language.expression import TRUE, Expression, Name, Operand
from ...target import Target
from ..base.definition import Implementation, Reference, define, row_major
from ..base.launch import Launch, image_launch, linear_grid, linear_launch
from ..base.row_slices import no_whole_rows
from ..base.shapes import image_shape
from ..base.storage import ANY
from ..base.traits import Traits, always, among_operands

PHASES_TO_SPACE = "tflgpu.phases_to_space"


@dataclass(frozen=True)
class Source:
    """The input coordinates of an output element, and the condition under which they exist."""

    batch: Operand
    row: Operand
    column: Operand
    channel: Operand
    inside: Expression = TRUE


# The `Source` of the output element at (batch, row, column, channel), which are expressions of
# kernels or arrays. The last argument is the unit of channel coordinates, in channels: 1, or a
# whole slice.
Find = Callable[[Op, Any, int], Source]


def _with_columns(op: Op) -> Shape:
    """The input's shape; rank 3 gets an axis of columns, as the decomposition will give it."""
    shape = op.operand(0).shape
    if len(shape) not in (3, 4):
        raise op.invalid(f"input {list(shape)} must have rank 3 or 4")
    return (*shape[:2], 1, shape[2]) if len(shape) == 3 else shape


def _without_columns(op: Op, shape: Shape) -> list[Shape]:
    return [shape if len(op.operand(0).shape) == 4 else (*shape[:2], shape[3])]


def _block(op: Op) -> int:
    size = int(op.attrs.get("block_size", 0))
    if size < 1:
        raise op.invalid(f"block_size {size} must be at least 1")
    return size


def _infer_to_depth(op: Op) -> list[Shape]:
    (batch, height, width, channels), n = image_shape(op), _block(op)
    if height % n or width % n:
        raise op.invalid(f"an image of {height}x{width} does not divide into blocks of {n}x{n}")
    return [(batch, height // n, width // n, channels * n * n)]


def _to_depth(op: Op, at: Any, unit: int) -> Source:
    n, channels = _block(op), op.operand(0).shape[3] // unit
    batch, row, column, channel = at
    return Source(
        batch,
        row * n + channel // (n * channels),
        column * n + channel // channels % n,
        channel % channels,
    )


def _infer_to_space(op: Op) -> list[Shape]:
    (batch, height, width, channels), n = image_shape(op), _block(op)
    if channels % (n * n):
        raise op.invalid(
            f"{channels} channels are not a multiple of {n * n}, for blocks of {n}x{n}"
        )
    return [(batch, height * n, width * n, channels // (n * n))]


def _to_space(op: Op, at: Any, unit: int) -> Source:
    return _from_phases(op, at, unit, (_block(op), _block(op)), (0, 0))


def _infer_phases_to_space(op: Op) -> list[Shape]:
    (batch, _, _, channels), (rows, columns) = image_shape(op), op.attrs["blocks"]
    return [(batch, *op.attrs["size"], channels // (rows * columns))]


def _phases_to_space(op: Op, at: Any, unit: int) -> Source:
    return _from_phases(op, at, unit, op.attrs["blocks"], op.attrs["crops"])


def _from_phases(
    op: Op, at: Any, unit: int, blocks: tuple[int, int], crops: tuple[int, int]
) -> Source:
    (rows, columns), channels = blocks, op.output.shape[3] // unit
    batch, row, column, channel = at
    down, across = row + crops[0], column + crops[1]
    block = down % rows * columns + across % columns
    return Source(batch, down // rows, across // columns, block * channels + channel)


def _table(op: Op, position: int) -> list[list[int]]:
    """The entries of a constant for rows and for columns; columns of rank 3 get neutral ones."""
    values = op.constant(position)
    if len(values) == 1:
        values = np.concatenate([values, np.full_like(values, position == 1)])
    if values.size not in (2, 4) or len(values) != 2 or (values < 0).any():
        raise op.invalid(
            f"input {position}, of shape {list(values.shape)}, must hold non-negative entries for "
            f"rows and columns"
        )
    return [[int(value) for value in np.atleast_1d(row)] for row in values]


def _infer_to_batch(op: Op) -> list[Shape]:
    batch, height, width, channels = _with_columns(op)
    blocks, pads = _table(op, 1), _table(op, 2)
    sizes = [size + sum(pad) for size, pad in zip((height, width), pads, strict=True)]
    if any(n < 1 or size % n for size, (n,) in zip(sizes, blocks, strict=True)):
        raise op.invalid(f"padded sizes {sizes} do not divide into blocks of {blocks}")
    (rows,), (columns,) = blocks
    pixels = sizes[0] // rows, sizes[1] // columns
    return _without_columns(op, (batch * rows * columns, *pixels, channels))


def _to_batch(op: Op, at: Any, unit: int) -> Source:
    (rows,), (columns,) = _table(op, 1)
    (top, _), (left, _) = _table(op, 2)
    images, height, width, _ = _with_columns(op)
    batch, row, column, channel = at
    down = row * rows + batch // (images * columns) - top
    block_column = batch // images % columns
    across = column * columns + block_column - left
    inside = (down >= 0) & (down < height) & (across >= 0) & (across < width)
    padded = any(sum(pad) for pad in _table(op, 2))
    return Source(batch % images, down, across, channel, inside if padded else TRUE)


def _infer_from_batch(op: Op) -> list[Shape]:
    batch, height, width, channels = _with_columns(op)
    blocks, crops = _table(op, 1), _table(op, 2)
    (rows,), (columns,) = blocks
    sizes = [
        size * n - sum(crop)
        for size, (n,), crop in zip((height, width), blocks, crops, strict=True)
    ]
    if rows * columns < 1 or batch % (rows * columns) or min(sizes) < 0:
        raise op.invalid(
            f"{list(op.operand(0).shape)} does not match blocks of {blocks} and crops {crops}"
        )
    return _without_columns(op, (batch // (rows * columns), *sizes, channels))


def _from_batch(op: Op, at: Any, unit: int) -> Source:
    (rows,), (columns,) = _table(op, 1)
    (top, _), (left, _) = _table(op, 2)
    batch, row, column, channel = at
    down, across = row + top, column + left
    block = down % rows * columns + across % columns
    image = block * op.output.shape[0] + batch
    return Source(image, down // rows, across // columns, channel)


# -- kernels ----------------------------------------------------------------------------------


def _kernels(find: Find) -> tuple[Implementation, ...]:
    def sliced(op: Op, target: Target) -> Launch:
        lanes = target.lanes
        whole = not any(tensor.shape[3] % lanes for tensor in (op.operand(0), op.output))
        unit = lanes if whole else 1
        variables = {
            "whole": whole or op.operand(0).shape[3] == op.output.shape[3],
            "find": lambda *at: find(op, at, unit),
        }
        return image_launch(op, target, "move/rearrange.jinja", variables)

    def linear(op: Op, target: Target) -> Launch:
        variables = {"find": lambda *at: find(op, at, 1)}
        return linear_launch(op, "move/rearrange_linear.jinja", variables=variables)

    def in_slices(op: Op, target: Target) -> str | None:
        channels = op.operand(0).shape[-1]
        if channels % target.lanes or len(op.output.shape) != 4:
            return f"rows of {channels} elements are not whole slices of images"
        if reason := no_whole_rows(op, target, op.epilogue_inputs, op.operand(0)):
            return reason
        place = map(Name, ("batch", "row", "column", "slice"))
        return None if find(op, tuple(place), target.lanes).inside is TRUE else "pixels are padded"

    def rows(op: Op, target: Target) -> Launch:
        slices = (*op.output.shape[:3], op.output.shape[3] // target.lanes)
        variables = {"slices": slices, "find": lambda *at: find(op, at, target.lanes)}
        grid = linear_grid(prod(slices))
        return Launch.of(op, "move/rearrange_rows.jinja", grid, variables=variables)

    return (
        Implementation("rearrange", sliced),
        row_major("rearrange_rows", rows, in_slices),
        row_major("rearrange_linear", linear),
    )


def _reference(find: Find) -> Reference:
    """The operator in numpy, which finds its elements where the kernels do."""

    def reference(op: Op, x: Array, *others: Array) -> Array:
        shape = op.output.shape
        if not x.size:
            return np.zeros(shape, x.dtype)
        image = x.reshape(_with_columns(op))
        sizes = shape if len(shape) == 4 else (*shape[:2], 1, shape[2])
        found: Any = find(op, np.indices(sizes, sparse=True), 1)
        places = zip(
            (found.batch, found.row, found.column, found.channel), image.shape, strict=True
        )
        moved = image[tuple(np.clip(place, 0, size - 1) for place, size in places)]
        padded = moved if found.inside is TRUE else np.where(found.inside, moved, 0)
        return np.broadcast_to(padded, sizes).reshape(shape)

    return reference


def _define(
    signature: str, infer: Callable[[Op], list[Shape]], find: Find, versions: int = 1
) -> None:
    reference, traits = _reference(find), Traits(always, moves=True, range=among_operands)
    define(signature, infer, _kernels(find), reference, ANY, versions=versions, traits=traits)


_BLOCKS = "x:T block:integer crops:integer -> y:T"
_define(f"BATCH_TO_SPACE_ND {_BLOCKS}", _infer_from_batch, _from_batch, versions=4)
_define("DEPTH_TO_SPACE x:T -> y:T", _infer_to_space, _to_space, versions=2)
_define(PHASES_TO_SPACE, _infer_phases_to_space, _phases_to_space)
_define(f"SPACE_TO_BATCH_ND {_BLOCKS}", _infer_to_batch, _to_batch, versions=4)
_define("SPACE_TO_DEPTH x:T -> y:T", _infer_to_depth, _to_depth, versions=2)
