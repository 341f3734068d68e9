"""Transposed convolutions whose weights or bias are computed while the model runs."""

from __future__ import annotations

from typing import Any

from ...ir import Tensor
from ...ops import transpose_conv
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes


@decomposes("TRANSPOSE_CONV", "Convolution2DTransposeBias")
def computed_weights(here: Decomposition) -> str | None:
    """With zeros between the input pixels, it becomes a convolution with a flipped window."""
    op = here.op
    weights, bias = op.operand(1), op.input(transpose_conv.bias_position(op))
    if weights.constant:
        return bias_apart(here, transpose_conv.bias_position(op))
    window = transpose_conv.window(op)
    _, rows, columns, _ = op.output.shape
    spread = _spread(here, transpose_conv.input_image(op), window.stride_y, window.stride_x)
    image = _placed(here, spread, 1, window.height - 1 - window.top, rows + window.height - 1)
    image = _placed(here, image, 2, window.width - 1 - window.left, columns + window.width - 1)
    flipped = here.add("REVERSE_V2", weights, here.constant([1], "int32"))
    flipped = here.add("REVERSE_V2", flipped, here.constant([2], "int32"))
    options: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    here.finish(here.add("CONV_2D", image, flipped, bias, **options))
    return None


def _spread(here: Decomposition, image: Tensor, down: int, across: int) -> Tensor:
    """The image with its pixels `down` rows and `across` columns apart, and zeros between them."""
    batch, rows, columns, channels = image.shape
    apart = here.reshape(image, (batch, rows, 1, columns, 1, channels))
    pads = [(0, 0), (0, 0), (0, down - 1), (0, 0), (0, across - 1), (0, 0)]
    padded = here.add("PAD", apart, here.constant(pads, "int32"))
    return here.reshape(padded, (batch, rows * down, columns * across, channels))


def _placed(here: Decomposition, image: Tensor, axis: int, before: int, size: int) -> Tensor:
    """The image padded with zeros or cropped along an axis, with `before` in front, to `size`."""
    after = size - before - image.shape[axis]
    pads = [(0, 0)] * len(image.shape)
    pads[axis] = (max(before, 0), max(after, 0))
    padded = here.add("PAD", image, here.constant(pads, "int32"))
    begin = [0] * len(image.shape)
    begin[axis] = max(-before, 0)
    sizes = [*padded.shape]
    sizes[axis] = size
    edges = here.constant(begin, "int32"), here.constant(sizes, "int32")
    return here.add("SLICE", padded, *edges)
