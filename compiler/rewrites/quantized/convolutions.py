"""Convolutions and fully connected layers: sums of products, scaled and rounded once."""

import numpy as np

from ...ir import Array, Tensor, constant
from .exact_sums import exact_sums, wrapped_sums
from .hybrid import hybrid, hybrid_transposed, left_by_xnnpack
from .int16_sums import rounded_once, rounded_once_in_full, rounded_twice, sums_of_bytes
from .layer import Layer
from .lowering import INTEGERS, PACKED, Lowering, lowers
from .matrices import product_of_rows
from .ratios import CHANNEL_BLOCK, ELEMENT_BLOCK, beyond_blocks


@lowers("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def convolution(here: Lowering) -> Tensor:
    """Sums of products of centered integers, then one scale for each output channel."""
    op = here.op
    image, weights = op.operand(0), op.operand(1)
    _check_weights(here, image, weights)
    if image.dtype not in INTEGERS:
        return hybrid(here)
    wider = op.name == "FULLY_CONNECTED" and image.dtype == "uint8"
    here.require_result(image, *(["int16"] if wider else []))
    bias = _constant_bias(here, 2)
    if op.name == "FULLY_CONNECTED" and (not weights.constant or weights.dtype == "int16"):
        return product_of_rows(here, bias)
    layer = Layer(here, image, weights, bias)
    if image.dtype == "int16":
        return _of_bytes(layer, op.input(2))
    if left_by_xnnpack(here) or _unscaled(op.input(2)):
        # LiteRT's own kernels.
        blocks = op.name == "DEPTHWISE_CONV_2D" and image.dtype == "int8"
        return _in_blocks(layer) if blocks else _rounded_twice(layer)
    return _requantized(layer)


@lowers("TRANSPOSE_CONV")
def transposed_convolution(here: Lowering) -> Tensor:
    """A convolution whose operands are the result's size, weights, image and bias."""
    op = here.op
    size, weights, image = op.operand(0), op.operand(1), op.operand(2)
    _check_weights(here, image, weights)
    if image.dtype not in INTEGERS:
        _constant_bias(here, 3)
        return hybrid_transposed(here)
    here.require_result(image)
    bias = _constant_bias(here, 3)
    layer = Layer(here, image, weights, bias)
    if image.dtype == "int16":
        return _of_bytes(layer, op.input(3))
    if size.folded or not weights.constant or _unscaled(op.input(3)) or _leaves_gaps(layer):
        # XNNPACK takes no size or weights that the model computes, nor strides that leave gaps.
        return _in_blocks(layer)
    return _requantized(layer)


def _constant_bias(here: Lowering, position: int) -> Array | None:
    """The bias of a layer, of shape [channels]."""
    bias = here.op.input(position)
    if bias is not None and not bias.constant:
        raise here.declined("its bias is computed while the model runs")
    return None if bias is None else here.op.constant(position).reshape(-1)


def _unscaled(bias: Tensor | None) -> bool:
    """Whether a bias has no scale in the file, which XNNPACK insists on."""
    return bias is not None and bias.quantization is None


def _check_weights(here: Lowering, image: Tensor, weights: Tensor) -> None:
    """UnsupportedError for weights whose type or zero point LiteRT disregards beside the image."""
    name, dtype = here.op.name, weights.dtype
    rows = name == "FULLY_CONNECTED" and image.dtype in INTEGERS
    if dtype in ("int8", *PACKED) and here.zero(weights) and not rows:
        raise here.declined("its weights have a zero point, which LiteRT disregards")
    if image.dtype not in INTEGERS:
        return
    if dtype == "int4" and (
        image.dtype == "uint8" or (name == "DEPTHWISE_CONV_2D" and image.dtype != "int8")
    ):
        raise here.declined(
            f"its weights are int4, which LiteRT does not unpack beside {image.dtype}"
        )
    alike = dtype == image.dtype and (dtype != "int16" or name == "FULLY_CONNECTED")
    signed = ("int8", *(PACKED if rows and image.dtype == "int8" else ("int4",)))
    if not alike and (dtype not in signed or image.dtype == "uint8"):
        raise here.declined(
            f"its weights are {dtype}, whose bytes LiteRT takes for another type beside "
            f"{image.dtype}"
        )


def _leaves_gaps(layer: Layer) -> bool:
    """Whether strides leave pixels out, which XNNPACK does not support."""
    attrs = layer.here.op.attrs
    strides = attrs.get("stride_h", 1), attrs.get("stride_w", 1)
    smaller = any(n < stride for n, stride in zip(layer.weights.shape[1:3], strides, strict=True))
    return smaller and attrs.get("padding") == "SAME"


def _requantized(layer: Layer) -> Tensor:
    """As XNNPACK: sums times one product of float32, to the nearest even."""
    here, result = layer.here, layer.here.op.output
    # In this order, as XNNPACK computes it in float32.
    scales = here.scale(layer.image) * here.scales(layer.weights) / here.scale(result)
    scale = constant(f"{result.name}/scale", np.asarray(scales, np.float32))
    return here.rounded("tflgpu.requantize", exact_sums(layer), scale)


def _rounded_twice(layer: Layer) -> Tensor:
    """As LiteRT's own kernels round sums of 8-bit integers."""
    ties_away = layer.grouped or layer.name == "DEPTHWISE_CONV_2D"
    return rounded_twice(layer.here, wrapped_sums(layer), layer.factors, float(ties_away))


def _in_blocks(layer: Layer) -> Tensor:
    """As LiteRT's kernels round that treat ties differently beyond whole blocks."""
    here, result = layer.here, layer.here.op.output
    if result.dtype == "uint8":
        factors, ties_away = layer.single_factors, beyond_blocks(result.shape, ELEMENT_BLOCK)
    else:
        factors, ties_away = layer.factors, beyond_blocks(result.shape[-1:], CHANNEL_BLOCK)
    return rounded_twice(here, wrapped_sums(layer), factors, ties_away)


def _of_bytes(layer: Layer, bias: Tensor | None) -> Tensor:
    """For images of int16, by the operator and the type that LiteRT adds the bias in."""
    here, op, factors = layer.here, layer.here.op, layer.factors
    sums = sums_of_bytes(layer)
    asked = op.attrs.get("quantized_bias_type")
    dtype = None if bias is None else bias.dtype
    if layer.name == "FULLY_CONNECTED":
        if "int64" in (asked, dtype):
            return rounded_once_in_full(here, sums, factors)
        return rounded_twice(here, sums, factors if factors.ndim else layer.single_factors, 0.0)
    if asked != "int32":
        if dtype not in (None, "int64"):
            raise here.declined("its options do not say that its bias has 32 bits")
        return rounded_once(here, sums, factors)
    if layer.name != "TRANSPOSE_CONV":
        return rounded_twice(here, sums, factors, float(layer.grouped))
    return rounded_twice(here, sums, factors, beyond_blocks(op.output.shape[-1:], CHANNEL_BLOCK))
