"""tflgpu.normalization: values minus their mean, divided by their deviation over some axes.

    y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)      with `centered` True
    y = x / sqrt(mean(x^2) + epsilon)                              with `centered` False

Over the last axis this is layer normalization (arXiv 1607.06450) or, not centered, RMS
normalization (arXiv 1910.07467); over rows and columns, instance normalization (arXiv 1607.08022).
Over channels of a group and pixels it is group normalization (arXiv 1803.08494): the values are
normalized in another shape then, `shape`, such as [1,4096,32,4] for 32 groups of the channels of
[1,64,64,128]. Gain and offset remain separate operators.
"""

from dataclasses import replace
from math import gcd, lcm, prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens
from ..base.launch import Launch, linear_grid
from ..base.parts import largest_divisor
from ..base.row_slices import no_row_slices, no_whole_rows
from ..base.shapes import same_as_first
from ..base.storage import bhwc, slice_count
from .lines import SQUARES, SUM, Lines, axes_of_rows, group_size, merged, shared_by, too_few_parts

NAME = "tflgpu.normalization"


def _axes(op: Op) -> tuple[int, ...]:
    return tuple(op.attrs["axes"])


def shape_normalized(op: Op) -> Shape:
    """The shape that the axes are those of."""
    return tuple(op.attrs.get("shape", op.operand(0).shape))


def reference(op: Op, values: Array) -> Array:
    x = values.astype(np.float64).reshape(shape_normalized(op))
    if op.attrs["centered"]:
        x = x - x.mean(_axes(op), keepdims=True)
    variance = np.square(x).mean(_axes(op), keepdims=True)
    return np.asarray(x / np.sqrt(variance + op.attrs["epsilon"]), np.float32)


def pixel_groups(op: Op) -> tuple[int, int, int, int] | None:
    """Batches, pixels, groups, and the channels of each; None if it is not over these.

    The only group may be all channels, and a group a single one.
    """
    whole = op.output.shape
    shape, reduced = merged(shape_normalized(op), _axes(op))
    batches, channels = whole[0], whole[-1]
    if not 3 <= len(whole) <= 4 or (batches > 1 and (shape[0] != batches or 0 in reduced)):
        return None
    if batches > 1:
        shape, reduced = shape[1:], {axis - 1 for axis in reduced}
    found = {1: (1, channels), 2: (channels, 1), 3: tuple(shape[1:])}.get(len(shape))
    pixels = prod(whole) // (batches * channels)
    if found is None or reduced != {0, 2} & {*range(len(shape))} or pixels == 1:
        return None
    groups, size = found
    if groups * size != channels or (len(shape) > 1 and shape[0] != pixels):
        return None
    return batches, pixels, groups, size


def _reduced(op: Op) -> tuple[bool, ...]:
    """For batches, rows, columns and channels, whether the mean is over more than one of them."""
    shape = op.operand(0).shape
    first = 4 - len(shape)
    sizes = bhwc(shape)
    return tuple(sizes[axis] > 1 and axis - first in _axes(op) for axis in range(4))


def _whole_images(op: Op, target: Target) -> str | None:
    """The sliced kernel takes means over all pixels, over all channels, or over both."""
    shape = op.operand(0).shape
    if shape_normalized(op) != shape:
        return "it normalizes groups of channels"
    if len(shape) > 4:
        return f"rank {len(shape)} is above 4"
    _, rows, columns, _ = bhwc(shape)
    over_batches, over_rows, over_columns, _ = _reduced(op)
    if over_batches:
        return "the mean is over several batches"
    if rows > 1 and columns > 1 and over_rows != over_columns:
        return "the mean is over rows or columns but not both"
    if not flattens(op):
        return "its epilogue needs height and width as separate axes"
    return None


def _lines(op: Op) -> Lines:
    variables = {
        **{name: op.attrs[name] for name in ("centered", "epsilon")},
        "count": float(prod(shape_normalized(op)[axis] for axis in _axes(op))),
        **{"sum": SUM, "squares": SQUARES},
    }
    flops = (7 if op.attrs["centered"] else 4) * op.output.elements
    return Lines(op, "reduce/normalization.jinja", variables, flops, within=shape_normalized(op))


def _sliced(op: Op, target: Target) -> Launch:
    """A mean over pixels is a work-group reduction; one over channels alone is, of few pixels."""
    batch, rows, columns, channels = bhwc(op.output.shape)
    pixels, slices = rows * columns, slice_count(channels, target)
    over_pixels, over_channels = any(_reduced(op)[1:3]), _reduced(op)[3]
    axes = {*((1, 2) if over_pixels else ()), *((3,) if over_channels else ())}
    group_items = 0
    if over_pixels:
        group_items = group_size(pixels, target)
    elif over_channels:
        group_items = shared_by(slices, batch * pixels, target)
    return _lines(op).by_slices(target, axes, group_items=group_items, flatten=True)


def _rows_of_groups(op: Op, target: Target) -> str | None:
    shape, reduced = merged(shape_normalized(op), _axes(op))
    if reduced != {len(shape) - 1}:
        return "the mean is not over rows"
    lines = prod(shape[:-1])
    if lines >= target.device.work_items:
        return f"{lines} rows already keep the device busy"
    return too_few_parts(shape[-1], lines, target)


def _linear_group(op: Op, target: Target) -> Launch:
    """A work-group per mean, over rows."""
    columns = merged(shape_normalized(op), _axes(op))[0][-1]
    return _lines(op).by_elements(_axes(op), group_items=group_size(columns, target))


def _long_rows(op: Op, target: Target) -> str | None:
    if not axes_of_rows(shape_normalized(op), _axes(op), target):
        return "the mean is not over rows of whole slices"
    if shape_normalized(op) != op.output.shape:
        return no_whole_rows(op, target, op.epilogue_inputs, op.operand(0))
    return no_row_slices(op, target, op.epilogue_inputs, op.operand(0))


def _rows(op: Op, target: Target) -> Launch:
    return _lines(op).by_rows(axes_of_rows(shape_normalized(op), _axes(op), target))


MOST_SLICES = 8  # How many slices of groups a work-item takes, at most: it holds their sums.

# How many sums of the pixels of a block are made at a time, so that none waits for another.
MOST_CHAINS = 4

FEW = 4  # Fewer work-items than this part of those that keep a processor busy are few.

# How many pixels are a block, at most: their squared distances from the first of them are at most
# as many times the variance, so that few of its digits cancel.
MOST_ROWS = 32


def _few_channels(op: Op, target: Target) -> str | None:
    sizes = pixel_groups(op)
    if sizes is None:
        return "the mean is not over pixels and groups of channels"
    if not op.attrs["centered"]:
        return "no mean is subtracted"
    if not target.on_processor:
        return "work-items of a group normalize images"
    *_, groups, size = sizes
    together = lcm(size, target.lanes)
    if groups * size % together or together > MOST_SLICES * target.lanes:
        return f"groups of {size} of {groups * size} channels do not fill few whole slices"
    return None


def _few_channels_of_rows(op: Op, target: Target) -> str | None:
    unsuited = no_whole_rows(op, target, op.epilogue_inputs, op.operand(0))
    return unsuited or _few_channels(op, target)


def _few_channels_in_slices(op: Op, target: Target) -> str | None:
    if reason := _few_channels(op, target):
        return reason
    return None if flattens(op) else "its epilogue needs height and width as separate axes"


def items_of_groups(op: Op, target: Target) -> int:
    """How many work-items of a processor normalize groups of channels of all pixels; 0 for none."""
    sizes = pixel_groups(op)
    assert sizes is not None
    batches, _, groups, size = sizes
    if _few_channels(op, target) is None:
        return batches * groups * size // lcm(size, target.lanes)
    if groups == 1:
        return batches
    return batches * slice_count(groups, target) if size == 1 else 0


def _groups(op: Op, target: Target, pairs: bool = True) -> Launch:
    """A work-item takes the groups that fill whole slices together, or with `pairs` two of these if
    enough work-items remain, as neighbouring lines of the cache are read and written faster.
    """
    sizes = pixel_groups(op)
    assert sizes is not None
    batches, pixels, groups, size = sizes
    together, pair = lcm(size, target.lanes), 2 * target.lanes
    busy = FEW * batches * groups * size >= pair * target.device.work_items
    if pairs and together < pair and groups * size % pair == 0 and busy:
        together = pair
    parts, slices = groups * size // together, together // target.lanes
    rows = largest_divisor(pixels, MOST_ROWS)
    lines = _lines(op)
    return Launch.of(
        op,
        "reduce/normalization_groups.jinja",
        linear_grid(batches * parts),
        variables={
            **lines.variables,
            "items": batches * parts,
            "parts": parts,
            "pixels": pixels,
            "rows": rows,
            "chains": gcd(rows, max(MOST_CHAINS // slices, 1)),
            "columns": groups * size,
            "slices": slices,
            "size": size,
        },
        heavy=True,
        flops=lines.flops,
    )


def _sliced_groups(op: Op, target: Target) -> Launch:
    launch = _groups(op, target, pairs=False)
    return replace(launch, grid=(1, 1, launch.variables["items"]), flatten=True)


IMPLEMENTATIONS = (
    Implementation("normalization_groups", _sliced_groups, _few_channels_in_slices),
    Implementation("normalization", _sliced, _whole_images),
    row_major("normalization_rows", _rows, _long_rows),
    row_major("normalization_groups", _groups, _few_channels_of_rows),
    row_major("normalization_group_linear", _linear_group, _rows_of_groups),
    row_major("normalization_linear", lambda op, _: _lines(op).by_elements(_axes(op))),
)

define(NAME, same_as_first, IMPLEMENTATIONS, reference)
