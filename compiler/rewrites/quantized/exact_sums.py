"""Sums of products that are exact in float32, however many there are.

    s = CONV_2D(x, w, b)      whose sums may pass 2^24
    becomes
        p = CONV_2D(SLICE(x), part of w, part of b)
        q = CONV_2D(SLICE(x), rest of w)
        s = ADD(p, q)

Sums of each part of the input channels are exact, and an addition of two exact numbers rounds like
the conversion of the whole sum to a float, which is what LiteRT does. Large biases are divided
alike: into a part that fits beside the sums and a part of few digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...ir import Array, Tensor, constant
from .lowering import EXACT, Lowering

CHANNEL_AXES = {
    "CONV_2D": (0, 3),
    "FULLY_CONNECTED": (0, 1),
    "DEPTHWISE_CONV_2D": (3, None),
    "TRANSPOSE_CONV": (0, 3),
}
"""The axes of the weights that the output and the input channels lie along; None where every
output channel has but few products."""


def exact_sums(
    lowering: Lowering,
    name: str,
    image: Tensor,
    weights: Tensor,
    bias: Array | None,
    reach: int,
    attrs: Mapping[str, Any],
) -> Tensor:
    """The sums of a layer's products, of its output's shape, rounded to float32 once.

    The image's centered values are at most `reach` from 0; `bias` is of shape [channels].
    UnsupportedError if sums of grouped channels may not be exact.
    """
    values = weights.data
    assert values is not None
    if name == "FULLY_CONNECTED":
        image = lowering.reshape(image, (image.elements // values.shape[1], values.shape[1]))
    output_axis, input_axis = CHANNEL_AXES[name]
    own = np.zeros(values.shape[output_axis]) if bias is None else bias.astype(np.float64)
    others = tuple(axis for axis in range(values.ndim) if axis not in (output_axis, input_axis))
    taps = [np.abs(some).sum(others, dtype=np.float64) for some in _meeting(name, values, attrs)]
    products = np.max(taps, 0) * reach
    if input_axis is None:
        products = products[None]
    elif output_axis < input_axis:
        products = products.T
    small, large = _divide(own, products.sum(0))
    parts = list(_parts(products, np.abs(small)))
    if len(parts) > 1 and name == "CONV_2D" and image.shape[3] != values.shape[3]:
        raise lowering.declined("sums of grouped channels may be too large to be exact")
    if len(parts) + bool(large.any()) > 2 or (large.astype(np.float32) != large).any():
        return _integer_sums(lowering, name, image, weights, own, parts, attrs)
    sums: Tensor | None = None
    for number, (first, end) in enumerate(parts):
        first_bias = small if number == 0 and (bias is not None) else None
        part = _part(
            lowering, name, image, weights, first_bias, (first, end), len(parts) > 1, attrs
        )
        sums = part if sums is None else lowering.add("tflgpu.add_exact", sums, part)
    assert sums is not None
    if large.any():
        rest = constant(f"{lowering.op.output.name}/large_bias", large.astype(np.float32))
        sums = lowering.add("tflgpu.add_exact", sums, rest)
    return sums


def _meeting(name: str, weights: Array, attrs: Mapping[str, Any]) -> list[Array]:
    """Those weights that may meet in one sum: of a transposed convolution, every stride-th."""
    if name != "TRANSPOSE_CONV":
        return [weights]
    down, right = attrs.get("stride_h", 1), attrs.get("stride_w", 1)
    phases = np.ndindex(min(down, weights.shape[1]), min(right, weights.shape[2]))
    return [weights[:, y::down, x::right] for y, x in phases]


def _divide(bias: Array, products: Array) -> tuple[Array, Array]:
    """A bias as two numbers: one that fits beside the products, and one of at most 24 bits."""
    room = np.maximum(EXACT - products, 0)
    fits = np.abs(bias) <= room
    # A power of two below which the rest stays small, where there is no room for all of it.
    grain = 2.0 ** np.floor(np.log2(np.maximum(room, 1)))
    large = np.where(fits, 0, np.rint(bias / grain) * grain)
    return bias - large, large


def _parts(products: Array, bias: Array) -> Iterator[tuple[int, int]]:
    """First and end of the ranges of input channels whose sums are exact."""
    first, total = 0, bias.copy()
    for channel, own in enumerate(products):
        if channel > first and (total + own).max() > EXACT:
            yield first, channel
            first, total = channel, np.zeros_like(bias)
        total = total + own
    yield first, len(products)


def _part(
    lowering: Lowering,
    name: str,
    image: Tensor,
    weights: Tensor,
    bias: Array | None,
    channels: tuple[int, int],
    divided: bool,
    attrs: Mapping[str, Any],
) -> Tensor:
    """The sums over some of the input channels."""
    first, end = channels
    added = None if bias is None else lowering.constant(bias)
    if not divided:
        return _layer(lowering, name, image, weights, added, attrs)
    assert weights.data is not None
    axis = len(image.shape) - 1
    begin = lowering.constant([first if i == axis else 0 for i in range(axis + 1)], "int32")
    size = lowering.constant([end - first if i == axis else -1 for i in range(axis + 1)], "int32")
    some = lowering.add("SLICE", image, begin, size)
    part = lowering.constant(weights.data[..., first:end])
    return _layer(lowering, name, some, part, added, attrs)


def _layer(
    lowering: Lowering,
    name: str,
    image: Tensor,
    weights: Tensor,
    bias: Tensor | None,
    attrs: Mapping[str, Any],
) -> Tensor:
    """A transposed convolution begins with its result's size, and takes the weights first."""
    if name == "TRANSPOSE_CONV":
        size = lowering.op.operand(0)
        return lowering.add(name, size, weights, image, bias, dtype="float32", **attrs)
    return lowering.add(name, image, weights, bias, **attrs)


def _integer_sums(
    lowering: Lowering,
    name: str,
    image: Tensor,
    weights: Tensor,
    bias: Array,
    parts: list[tuple[int, int]],
    attrs: Mapping[str, Any],
) -> Tensor:
    """Parts added as 32-bit integers, which wrap as LiteRT's do; rounded to float32 at the end."""
    sums: Tensor | None = None
    for number, channels in enumerate(parts):
        part = _part(lowering, name, image, weights, None, channels, len(parts) > 1, attrs)
        whole = lowering.add("CAST", part, dtype="int32")
        sums = whole if number == 0 else lowering.add("ADD", sums, whole)
    total = lowering.add("ADD", sums, lowering.constant(bias, "int32"))
    return lowering.add("CAST", total, dtype="float32")
