"""The steps of a normalization of pixels, and of groups of channels, as separate kernels.

    s = tflgpu.pixel_statistics(x) parts=4        [batch, 1, 2 * parts, channels]
    y = tflgpu.normalize_pixels(x, s)             as x, with the attributes of tflgpu.normalization

The statistics are those of each channel in each part of the pixels: the means of all parts, then
the squared distances from them. The second kernel joins those of what is normalized together.
"""

from dataclasses import replace

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import Implementation, define
from ..base.images import flattens
from ..base.launch import Launch
from ..base.parts import largest_divisor
from ..base.shapes import same_as_first
from ..base.storage import slice_count
from .lines import SUM, seats, slice_group_size
from .normalization import pixel_groups

STATISTICS = "tflgpu.pixel_statistics"
NORMALIZE = "tflgpu.normalize_pixels"

# How many pixels are a part on processors, at most: 16 KB, which stay in the first cache.
MOST_PIXELS = 256

ALONE = 16  # Statistics that each work-item of a group joins by itself, at most.


def parts_of(pixels: int, slices: int, target: Target) -> int:
    """How many parts of equal size keep the device busy, and those of processors in its cache."""
    group_items = slice_group_size(pixels, target)
    wanted = -(-target.device.work_items // (slices * group_items))
    if target.on_processor:
        wanted = max(wanted, -(-pixels // MOST_PIXELS))
    return largest_divisor(pixels, wanted)


def _infer_statistics(op: Op) -> list[Shape]:
    batch, *_, channels = op.operand(0).shape
    return [(batch, 1, 2 * op.attrs["parts"], channels)]


def _launch(op: Op, target: Target, template: str, parts: int) -> Launch:
    """A work-group takes a part of the pixels of a slice."""
    batch, *_, channels = op.operand(0).shape
    pixels = op.operand(0).elements // (batch * channels) // parts
    group_items = slice_group_size(pixels, target)
    return Launch.of(
        op,
        template,
        (group_items, parts, batch * slice_count(channels, target)),
        variables={
            "group_items": group_items,
            "seats": seats(group_items, target),
            "pixels": pixels,
            "sum": SUM,
        },
        group=(group_items, 1, 1),
        flatten=True,
        flops=4 * op.operand(0).elements,
    )


def _statistics(op: Op, target: Target) -> Launch:
    return _launch(op, target, "reduce/pixel_statistics.jinja", op.attrs["parts"])


def _normalize(op: Op, target: Target) -> Launch:
    sizes = pixel_groups(op)
    assert sizes is not None
    batches, pixels, groups, size = sizes
    slices = batches * slice_count(groups * size, target)
    group_items = slice_group_size(pixels, target)
    parts = largest_divisor(pixels, -(-target.device.work_items // (slices * group_items)))
    launch = _launch(op, target, "reduce/normalize_pixels.jinja", parts)
    own = {
        "size": size,
        "part_pixels": 2 * pixels // op.operand(1).shape[2],
        "epsilon": op.attrs["epsilon"],
        "ALONE": ALONE,
    }
    reads = {"x": op.operand(0), "statistics": op.operand(1)}
    flat = flattens(op, op.epilogue_inputs)
    return replace(launch, reads=reads, variables={**launch.variables, **own}, flatten=flat)


define(
    STATISTICS, _infer_statistics, (Implementation("pixel_statistics", _statistics, fuses=False),)
)
define(NORMALIZE, same_as_first, (Implementation("normalize_pixels", _normalize),))
