"""Convolutions of volumes become those of images.

y = CONV_3D(x[1,5,7,4,3], w[3,2,3,3,7])
becomes   v = CONCATENATION of x[0:3], x[1:4] and x[2:5] along the channels: [3,7,4,9]
          y = CONV_2D(v, w[7,2,3,9])

A depth of the result is an image, whose channels are those of all depths that its window has. If
the window has a single row and column, depths are the rows of an image, which is not copied.

y = CONV_3D_TRANSPOSE([1,8,14,10,7], w[3,3,3,7,5], x[1,4,7,5,5]), strides 2
becomes   a = TRANSPOSE_CONV([4,14,10,7], w[1:2], x)
          b = TRANSPOSE_CONV([4,14,10,7], w[2] and w[0], x and its depths before, along channels)
          y = CONCATENATION(a, b) axis=1, where a depth's rows are followed by the next depth's

Depths of the result that are as many apart as the stride take the same steps of the window, from
depths of the input that lie side by side. Where images do not compute the same, volumes are spread.
"""

import numpy as np

from ...ir import Tensor
from ...ops.base.window import Along
from ...ops.decomposed.conv_3d import Transposed, transposed, walks
from .convolution import along_axes, bias_apart, steps
from .decomposition import Decomposition, decomposes
from .dilate import spread, surround

PIXEL = Along(1)  # Along the columns of an image whose rows are depths.


@decomposes("CONV_3D")
def images(here: Decomposition) -> Tensor | str:
    """A CONV_2D of as many images as the result has depths, or of one with a row for each depth."""
    op = here.op
    bias = op.input(2)
    if bias is not None and not bias.constant:
        return bias_apart(here, 2)
    depth, rows, columns = walks(op)
    if all(walk.whole and not any(walk.around) for walk in (rows, columns)):
        result = _by_rows(here, depth)
    else:
        result = _by_images(here, depth, rows, columns)
    return here.reshape(result, op.output.shape)


def _by_rows(here: Decomposition, depth: Along) -> Tensor:
    batch, depths, rows, columns, channels = here.op.operand(0).shape
    image = here.reshape(here.op.operand(0), (batch, depths, rows * columns, channels))
    weights = here.transpose(here.op.operand(1), (4, 0, 1, 2, 3))
    weights = here.reshape(weights, (weights.shape[0], depth.size, 1, channels))
    return _convolution(here, image, weights, depth, PIXEL)


def _by_images(here: Decomposition, depth: Along, rows: Along, columns: Along) -> Tensor:
    op = here.op
    pads = [(0, 0), depth.around, (0, 0), (0, 0), (0, 0)]
    volume = surround(here, op.operand(0), pads)
    shape = (volume.shape[0] * depth.count, *volume.shape[2:])
    taps = [here.reshape(each, shape) for each in steps(here, volume, 1, depth)]
    image = here.joined(taps, 3)
    weights = here.transpose(op.operand(1), (4, 1, 2, 0, 3))
    weights = here.reshape(weights, (*weights.shape[:3], depth.size * volume.shape[4]))
    return _convolution(here, image, weights, rows, columns)


def _convolution(
    here: Decomposition, image: Tensor, weights: Tensor, rows: Along, columns: Along
) -> Tensor:
    options = {"padding": (rows.around, columns.around), **along_axes("hw", (rows, columns))}
    given = here.op.attrs.get("fused_activation_function")
    activation = {} if given is None else {"fused_activation_function": given}
    return here.add("CONV_2D", image, weights, here.op.input(2), **options, **activation)


@decomposes("CONV_3D_TRANSPOSE")
def conv_3d_transpose(here: Decomposition) -> Tensor | str:
    """Images where 2D kernels compute the same; else zeros between the input's elements."""
    weights, bias = here.op.operand(1), here.op.input(3)
    if bias is not None and not bias.constant:
        return bias_apart(here, 3)
    depth, *plane = transposed(here.op)
    if weights.constant and depth.steps_in_each_phase and all(axis.flat for axis in plane):
        return _by_phases(here, depth)
    return _spread(here)


def _by_phases(here: Decomposition, depth: Transposed) -> Tensor:
    """A TRANSPOSE_CONV for each phase of depths, with a row of images for those of all batches."""
    op = here.op
    volume, count = op.operand(2), -(-depth.output // depth.stride)
    steps = [depth.steps(phase) for phase in range(depth.stride)]
    firsts = [first for phase in steps for _, first in phase]
    before = max(0, -min(firsts))
    after = max(0, max(firsts) + count - volume.shape[1])
    volume = surround(here, volume, [(0, 0), (before, after), (0, 0), (0, 0), (0, 0)])
    images = [
        _phase(here, volume, count, [(step, first + before) for step, first in phase])
        for phase in steps
    ]
    joined = here.joined(images, 1)
    batch, _, rows, columns, channels = op.output.shape
    result = here.reshape(joined, (batch, count * depth.stride, rows, columns, channels))
    beyond = count * depth.stride - depth.output
    return surround(here, result, [(0, 0), (0, -beyond), (0, 0), (0, 0), (0, 0)])


def _phase(here: Decomposition, volume: Tensor, count: int, steps: list[tuple[int, int]]) -> Tensor:
    """Every depth that takes these steps of the window, from these depths of the input on."""
    op = here.op
    batch, _, *image = volume.shape
    some = [here.slice(volume, [0, at, 0, 0, 0], [batch, count, *image]) for _, at in steps]
    joined = here.joined([here.reshape(each, (batch * count, *image)) for each in some], 3)
    weights = op.constant(1)[[step for step, _ in steps]].transpose(3, 1, 2, 0, 4)
    weights = weights.reshape(*weights.shape[:3], -1)
    shape = here.constant([batch * count, *op.output.shape[2:]], "int32")
    operands = shape, here.constant(np.ascontiguousarray(weights)), joined, op.input(3)
    options = {"stride_h": 1, "stride_w": 1, **op.attrs}
    return here.add("TRANSPOSE_CONV", *operands, dtype=op.output.dtype, **options)


def _spread(here: Decomposition) -> Tensor:
    """A convolution with a flipped window."""
    op = here.op
    weights, axes = op.operand(1), transposed(op)
    weights = here.add("REVERSE_V2", weights, here.constant([0, 1, 2], "int32"))
    weights = here.transpose(weights, (0, 1, 2, 4, 3))
    volume = spread(here, op.operand(2), (1, *(axis.stride for axis in axes), 1))
    volume = surround(here, volume, [(0, 0), *(axis.around for axis in axes), (0, 0)])
    options = {**op.attrs, "padding": "VALID", **{f"stride_{letter}": 1 for letter in "dhw"}}
    return here.add("CONV_3D", volume, weights, op.input(3), **options)
