"""Transposed convolutions with weights or a bias that the model computes."""

from __future__ import annotations

from typing import Any

from ...ir import Tensor
from ...ops import transpose_conv
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes
from .dilate import spread, surround


@decomposes("TRANSPOSE_CONV", "Convolution2DTransposeBias")
def computed_weights(here: Decomposition) -> Tensor | str:
    """With zeros between the input pixels, it becomes a convolution with a flipped window."""
    op = here.op
    weights, bias = op.operand(1), op.input(transpose_conv.bias_position(op))
    if weights.constant:
        return bias_apart(here, transpose_conv.bias_position(op))
    window = transpose_conv.window(op)
    image = transpose_conv.input_image(op)
    image = spread(here, image, (1, window.stride_y, window.stride_x, 1))
    top, left = window.height - 1 - window.top, window.width - 1 - window.left
    # A window for each pixel of the result.
    bottom, right = (
        result + size - 1 - before - given
        for result, size, before, given in zip(
            op.output.shape[1:3], weights.shape[1:3], (top, left), image.shape[1:3], strict=True
        )
    )
    image = surround(here, image, [(0, 0), (top, bottom), (left, right), (0, 0)])
    flipped = here.add("REVERSE_V2", weights, here.constant([1], "int32"))
    flipped = here.add("REVERSE_V2", flipped, here.constant([2], "int32"))
    options: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    return here.add("CONV_2D", image, flipped, bias, **options)
