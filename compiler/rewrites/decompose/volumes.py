"""Convolutions of volumes by constant weights become those of images.

y = CONV_3D(x[1,5,7,4,3], w[3,2,3,3,7])
becomes   v = CONCATENATION of x[0:3], x[1:4] and x[2:5] along the channels: [3,7,4,9]
          y = CONV_2D(v, w[7,2,3,9])

A depth of the result is an image, whose channels are those of all depths that its window has. If
the window has a single row and column, depths are the rows of an image, which is not copied.
"""

from __future__ import annotations

from typing import Any

from ...ir import Tensor
from ...ops.conv_3d import Walk, walks
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes
from .dilate import surround


@decomposes("CONV_3D")
def images(here: Decomposition) -> Tensor | str:
    """A CONV_2D of as many images as the result has depths, or of one with a row for each depth."""
    op = here.op
    if not op.operand(1).constant:
        return "the weights are computed"
    bias = op.input(2)
    if bias is not None and not bias.constant:
        return bias_apart(here, 2)
    depth, rows, columns = walks(op)
    if all(_pointwise(here, walk, axis) for axis, walk in ((2, rows), (3, columns))):
        result = _by_rows(here, depth)
    else:
        result = _by_images(here, depth, rows, columns)
    return here.reshape(result, op.output.shape)


def _pointwise(here: Decomposition, walk: Walk, axis: int) -> bool:
    return walk.size == walk.stride == 1 and not any(_around(here, walk, axis))


def _by_rows(here: Decomposition, depth: Walk) -> Tensor:
    batch, depths, rows, columns, channels = here.op.operand(0).shape
    image = here.reshape(here.op.operand(0), (batch, depths, rows * columns, channels))
    weights = here.transpose(here.op.operand(1), (4, 0, 1, 2, 3))
    weights = here.reshape(weights, (weights.shape[0], depth.size, 1, channels))
    options = {
        "stride_h": depth.stride,
        "stride_w": 1,
        "dilation_h_factor": depth.dilation,
        "dilation_w_factor": 1,
        "padding": (_around(here, depth, 1), (0, 0)),
    }
    return _convolution(here, image, weights, options)


def _by_images(here: Decomposition, depth: Walk, rows: Walk, columns: Walk) -> Tensor:
    op = here.op
    pads = [(0, 0), _around(here, depth, 1), (0, 0), (0, 0), (0, 0)]
    volume = surround(here, op.operand(0), pads)
    shape = (volume.shape[0] * depth.output, *volume.shape[2:])
    taps = [here.reshape(depths(here, volume, depth, step), shape) for step in range(depth.size)]
    image = taps[0] if len(taps) == 1 else here.add("CONCATENATION", *taps, axis=3)
    weights = here.transpose(op.operand(1), (4, 1, 2, 0, 3))
    weights = here.reshape(weights, (*weights.shape[:3], depth.size * volume.shape[4]))
    options = {
        "stride_h": rows.stride,
        "stride_w": columns.stride,
        "dilation_h_factor": rows.dilation,
        "dilation_w_factor": columns.dilation,
        "padding": (_around(here, rows, 2), _around(here, columns, 3)),
    }
    return _convolution(here, image, weights, options)


def depths(here: Decomposition, volume: Tensor, depth: Walk, step: int) -> Tensor:
    """The depths that one step of the window reads, for every depth of the result."""
    first, extents = step * depth.dilation, list(volume.shape)
    extents[1] = first + (depth.output - 1) * depth.stride + 1
    edges = [[0, first, 0, 0, 0], extents, [1, depth.stride, 1, 1, 1]]
    if first == 0 and extents == list(volume.shape) and depth.stride == 1:
        return volume
    return here.add("STRIDED_SLICE", volume, *(here.constant(edge, "int32") for edge in edges))


def _convolution(
    here: Decomposition, image: Tensor, weights: Tensor, options: dict[str, Any]
) -> Tensor:
    given = here.op.attrs.get("fused_activation_function")
    activation = {} if given is None else {"fused_activation_function": given}
    return here.add("CONV_2D", image, weights, here.op.input(2), **options, **activation)


def _around(here: Decomposition, walk: Walk, axis: int) -> tuple[int, int]:
    """Zeros before and after an axis of the volume."""
    reach = (walk.output - 1) * walk.stride + (walk.size - 1) * walk.dilation + 1
    return walk.before, max(reach - walk.before - here.op.operand(0).shape[axis], 0)
