"""Transposed convolutions of volumes become those of images, or convolutions of spread volumes.

y = CONV_3D_TRANSPOSE([1,8,14,10,7], w[3,3,3,7,5], x[1,4,7,5,5]), strides 2
becomes   a = TRANSPOSE_CONV([4,14,10,7], w[1:2], x)
          b = TRANSPOSE_CONV([4,14,10,7], w[2] and w[0], x and its depths before, along channels)
          y = CONCATENATION(a, b) axis=1, where a depth's rows are followed by the next depth's

Depths of the result that are as many apart as the stride take the same steps of the window, from
depths of the input that lie side by side.
"""

from __future__ import annotations

import numpy as np

from ...ir import Tensor
from ...ops.conv_3d import Transposed, transposed
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes
from .dilate import spread, surround


@decomposes("CONV_3D_TRANSPOSE")
def conv_3d_transpose(here: Decomposition) -> Tensor | str:
    """Images where 2D kernels compute the same; else zeros between the input's elements."""
    weights, bias = here.op.operand(1), here.op.input(3)
    if bias is not None and not bias.constant:
        return bias_apart(here, 3)
    depth, *plane = transposed(here.op)
    if weights.constant and depth.steps_in_each_phase and all(axis.flat for axis in plane):
        return _by_images(here, depth)
    return _spread(here)


def _by_images(here: Decomposition, depth: Transposed) -> Tensor:
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
    joined = images[0] if len(images) == 1 else here.add("CONCATENATION", *images, axis=1)
    batch, _, rows, columns, channels = op.output.shape
    result = here.reshape(joined, (batch, count * depth.stride, rows, columns, channels))
    beyond = count * depth.stride - depth.output
    return surround(here, result, [(0, 0), (0, -beyond), (0, 0), (0, 0), (0, 0)])


def _phase(here: Decomposition, volume: Tensor, count: int, steps: list[tuple[int, int]]) -> Tensor:
    """Every depth that takes these steps of the window, from these depths of the input on."""
    op = here.op
    batch, _, *image = volume.shape
    taps = [
        here.reshape(_depths(here, volume, first, count), (batch * count, *image))
        for _, first in steps
    ]
    joined = taps[0] if len(taps) == 1 else here.add("CONCATENATION", *taps, axis=3)
    weights = op.constant(1)[[step for step, _ in steps]].transpose(3, 1, 2, 0, 4)
    weights = weights.reshape(*weights.shape[:3], -1)
    shape = here.constant([batch * count, *op.output.shape[2:]], "int32")
    operands = shape, here.constant(np.ascontiguousarray(weights)), joined, op.input(3)
    options = {"stride_h": 1, "stride_w": 1, **op.attrs}
    return here.add("TRANSPOSE_CONV", *operands, dtype=op.output.dtype, **options)


def _depths(here: Decomposition, volume: Tensor, first: int, count: int) -> Tensor:
    begin = here.constant([0, first, 0, 0, 0], "int32")
    size = here.constant([volume.shape[0], count, *volume.shape[2:]], "int32")
    return here.add("SLICE", volume, begin, size)


def _spread(here: Decomposition) -> Tensor:
    """A convolution with a flipped window."""
    op = here.op
    weights, axes = op.operand(1), transposed(op)
    for axis in range(3):
        weights = here.add("REVERSE_V2", weights, here.constant([axis], "int32"))
    weights = here.transpose(weights, (0, 1, 2, 4, 3))
    volume = spread(here, op.operand(2), (1, *(axis.stride for axis in axes), 1))
    volume = surround(here, volume, [(0, 0), *(axis.around for axis in axes), (0, 0)])
    options = {**op.attrs, "padding": "VALID", **{f"stride_{letter}": 1 for letter in "dhw"}}
    return here.add("CONV_3D", volume, weights, op.input(3), **options)
