"""Sums of products that are exact in float32, however many there are.

    s = CONV_2D(x, w, b)      whose sums may pass 2^24
    becomes
        p = CONV_2D(SLICE(x), part of w, part of b)
        q = CONV_2D(SLICE(x), rest of w)
        s = ADD(p, q)

Sums of each part of the input channels are exact, and an addition of two exact numbers rounds like
the conversion of the whole sum to a float, which is what LiteRT does. Large biases are divided
alike: into a part that fits beside the sums and a part of few digits.

Devices that multiply bytes have sums of 32 bits. There such a layer stays whole, with an attribute
`least`, the least number of x.
"""

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.layers.byte_products import sums_fit
from .layer import Layer
from .lowering import EXACT, INTEGERS, Lowering

Channels = tuple[int, int]  # The first of a range of input channels, and its end.


def exact_sums(layer: Layer) -> Tensor:
    """A layer's sums of 8 bits as float32, rounded once (UnsupportedError if not exact)."""
    here = layer.here
    products, own, beyond = _bounds(layer)
    small, large = _divide(own, products.sum(0))
    if beyond and _multiplies_bytes(layer, own):
        least = INTEGERS[layer.image.dtype][0] - here.zero(layer.image)
        return layer.sums(layer.centered_image, layer.centered_weights, layer.bias, least=least)
    parts = parts_of(here, products, np.abs(small))
    if len(parts) > 1 and layer.grouped:
        raise here.declined("sums of grouped channels may be too large to be exact")
    if len(parts) + bool(large.any()) > 2 or (large.astype(np.float32) != large).any():
        sums = integer_sums(layer, layer.centered_image, own, parts)
        return here.add("CAST", sums, dtype="float32")
    first = None if layer.bias is None else small
    biases = [first, *[None] * (len(parts) - 1)]
    sums, *others = (
        _part(layer, layer.centered_image, bias, channels)
        for bias, channels in zip(biases, parts, strict=True)
    )
    if large.any():
        name = f"{here.op.output.name}/large_bias"
        others.append(constant(name, large.astype(np.float32)))
    for other in others:
        sums = here.add("tflgpu.add_exact", sums, other)
    return sums


def _bounds(layer: Layer) -> tuple[Array, Array, bool]:
    """Bounds of a layer's products, its bias or zeros, and whether their sums are beyond EXACT."""
    products = layer.products(layer.here.reach(layer.image))
    bias = np.zeros(products.shape[1]) if layer.bias is None else layer.bias.astype(np.float64)
    return products, bias, bool((products.sum(0) + np.abs(bias)).max(initial=0) > EXACT)


def _multiplies_bytes(layer: Layer, bias: Array) -> bool:
    """Whether the device's sums of 32 bits hold those of a layer with this bias."""
    weights = layer.centered_weights
    return (
        layer.here.target.byte_products
        and layer.input_axis is not None
        and layer.name != "TRANSPOSE_CONV"
        and not layer.grouped
        and not layer.image.constant
        and weights.constant
        and sums_fit(weights)
        and bool((bias.astype(np.float32) == bias).all())
    )


def _divide(bias: Array, products: Array) -> tuple[Array, Array]:
    """A bias as two numbers: one that fits beside the products, and one of at most 24 bits."""
    room = np.maximum(EXACT - products, 0)
    fits = np.abs(bias) <= room
    # A power of two below which the rest stays small, where there is no room for all of it.
    grain = 2.0 ** np.floor(np.log2(np.maximum(room, 1)))
    large = np.where(fits, 0, np.rint(bias / grain) * grain)
    return bias - large, large


def parts_of(here: Lowering, products: Array, bias: Array) -> list[Channels]:
    """Ranges of input channels whose sums are exact; UnsupportedError if those of one are not."""
    here.require_exact(float(products.max(initial=0)))
    parts, first, total = [], 0, bias.copy()
    for channel, own in enumerate(products):
        if channel > first and (total + own).max() > EXACT:
            parts.append((first, channel))
            first, total = channel, np.zeros_like(bias)
        total = total + own
    return [*parts, (first, len(products))]


def _part(layer: Layer, image: Tensor, bias: Array | None, channels: Channels) -> Tensor:
    """The sums over some of the input channels."""
    here, weights = layer.here, layer.centered_weights
    first, end = channels
    if layer.input_axis is None or end - first == weights.shape[layer.input_axis]:
        return layer.sums(image, weights, bias)
    *outer, _ = image.shape
    some = here.slice(image, [*(0 for _ in outer), first], [*(-1 for _ in outer), end - first])
    return layer.sums(some, here.constant(weights.values[..., first:end]), bias)


def integer_sums(layer: Layer, image: Tensor, bias: Array, parts: list[Channels]) -> Tensor:
    """The sums of parts added as 32-bit integers, which wrap as LiteRT's do; int32."""
    here = layer.here
    total = here.constant(bias, "int32")
    for channels in parts:
        whole = here.add("CAST", _part(layer, image, None, channels), dtype="int32")
        total = here.add("ADD", whole, total)
    return total


def wrapped_sums(layer: Layer) -> tuple[Tensor, Tensor]:
    """A layer's sums of 8 bits as floats worth 256 and 1, which wrap in 32 bits as LiteRT's do.

    UnsupportedError if they have no parts that float32 holds.
    """
    here, weights = layer.here, layer.centered_weights
    products, bias, beyond = _bounds(layer)
    if not beyond:
        return here.constant(0), layer.sums(layer.centered_image, weights, layer.bias)
    if layer.grouped or weights.data is None:
        here.require_exact(float(products.sum(0).max()))
    parts = parts_of(here, products, np.zeros_like(bias))
    upper, lower = divided(here, integer_sums(layer, layer.centered_image, bias, parts), 8)
    return here.add("CAST", upper, dtype="float32"), here.add("CAST", lower, dtype="float32")


def divided(here: Lowering, value: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """An int32 divided by a power of two, downwards, and the rest."""
    quotient = here.add("RIGHT_SHIFT", value, here.constant(bits, "int32"))
    product = here.add("MUL", quotient, here.constant(1 << bits, "int32"))
    return quotient, here.add("SUB", value, product)
