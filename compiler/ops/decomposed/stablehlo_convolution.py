"""STABLEHLO_CONVOLUTION: axes in any order, and any paddings, dilations and groups; shapes only.

`rewrites/decompose/stablehlo_convolution.py` decomposes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Op, Shape
from ..base.definition import define
from ..base.window import Along


@dataclass(frozen=True)
class Convolution:
    """The axes of the operands and of the result, in the order of OpDefs of images."""

    image: Shape  # Of batches, then those the window moves along, then of channels.
    # Of output channels, then those of the window, then of the input channels of a group.
    weights: Shape
    result: Shape  # As of the image.
    along: tuple[Along, ...]
    groups: int  # Each has a share of the input and of the output channels.
    batch_groups: int  # Each has a share of the images and of the output channels.


def convolution(op: Op) -> Convolution:
    """The axes, windows and groups (ModelError if they do not fit the operands)."""
    image = _order(op, "input", "batch_dimension", "feature_dimension")
    weights = _order(op, "kernel", "output_feature_dimension", "input_feature_dimension")
    result = _order(op, "output", "batch_dimension", "feature_dimension")
    source, filters = op.operand(0).shape, op.operand(1).shape
    rank = len(source)
    for order in (image, weights, result):
        if sorted(order) != list(range(rank)) or len(filters) != rank:
            raise op.invalid(
                f"axes {list(order)} for input {list(source)} and weights {list(filters)}"
            )
    groups, batches = (
        int(op.attrs.get(name, 1)) for name in ("feature_group_count", "batch_group_count")
    )
    images, channels = source[image[0]], source[image[-1]]
    outputs, inputs = filters[weights[0]], filters[weights[-1]]
    fit = min(groups, batches, inputs, outputs) > 0 and 1 in (groups, batches)
    if not fit or channels != inputs * groups or outputs % (groups * batches) or images % batches:
        raise op.invalid(
            f"{channels} channels of {images} images and weights {list(filters)} do not fit "
            f"{groups} groups of channels and {batches} groups of images"
        )
    along = _along(op, [source[i] for i in image[1:-1]], [filters[i] for i in weights[1:-1]])
    return Convolution(image, weights, result, along, groups, batches)


def _order(op: Op, operand: str, first: str, last: str) -> Shape:
    between = op.attrs.get(f"{operand}_spatial_dimensions", ())
    names = f"{operand}_{first}", f"{operand}_{last}"
    before, behind = (int(op.attrs.get(name, 0)) for name in names)
    return (before, *map(int, between), behind)


def _along(op: Op, extents: Sequence[int], sizes: Sequence[int]) -> tuple[Along, ...]:
    count = len(extents)

    def numbers(name: str, otherwise: int, times: int = 1) -> list[int]:
        given = op.integers_in(name)
        if len(given) not in (0, count * times):
            raise op.invalid(f"{name} {given} for {count} axes")
        return given or [otherwise] * (count * times)

    edges = numbers("padding", 0, 2)
    columns = [
        *(extents, sizes, numbers("window_strides", 1), numbers("rhs_dilation", 1)),
        *(edges[::2], edges[1::2], numbers("lhs_dilation", 1)),
        [bool(each) for each in numbers("window_reversal", 0)],
    ]
    found = tuple(Along(*each) for each in zip(*columns, strict=True))
    for each in found:
        if min(each.extent, each.size, each.stride, each.spread, each.dilation) < 1:
            raise op.invalid(
                f"an axis of {each.extent}, {each.spread} apart, and a window of {each.size}, "
                f"stride {each.stride}, dilation {each.dilation}"
            )
        if each.count < 1:
            raise op.invalid(
                f"a window of {each.size} does not fit an axis of {each.extent} with "
                f"{each.before} before and {each.after} after it"
            )
    return found


def _infer(op: Op) -> list[Shape]:
    found = convolution(op)
    source, filters = op.operand(0).shape, op.operand(1).shape
    batches = source[found.image[0]] // found.batch_groups
    sizes = (batches, *(each.count for each in found.along), filters[found.weights[0]])
    shape = [0] * len(sizes)
    for axis, size in zip(found.result, sizes, strict=True):
        shape[axis] = size
    return [tuple(shape)]


define(
    "STABLEHLO_CONVOLUTION x:T weights:T -> y:T",
    _infer,
    note="over up to three axes; becomes CONV_2D, DEPTHWISE_CONV_2D or CONV_3D",
)
