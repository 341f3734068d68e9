"""Convolutions and fully connected layers: sums of products, scaled and rounded once."""

from __future__ import annotations

import numpy as np

from ...ir import Array, Op, Tensor, constant
from .exact_sums import CHANNEL_AXES, exact_sums
from .hybrid import hybrid, hybrid_transposed
from .int16_sums import rounded_once, rounded_once_in_full, rounded_twice, sums_of_bytes
from .lowering import INTEGERS, Lowering, lowers
from .matrices import product_of_rows
from .ratios import CHANNEL_BLOCK, ELEMENT_BLOCK

ACTIVATION = "fused_activation_function"


@lowers("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def convolution(lowering: Lowering) -> None:
    """Sums of products of centered integers, then one scale for each output channel."""
    op = lowering.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if op.name == "FULLY_CONNECTED" and not weights.constant and weights.dtype in INTEGERS:
        product_of_rows(lowering)
        return
    if not weights.constant or (bias is not None and not bias.constant):
        raise lowering.declined("weights or a bias are computed while the model runs")
    _check_packed(lowering, image, weights)
    if image.dtype not in INTEGERS:
        hybrid(lowering)
        return
    if image.dtype == "int16":
        lowering.finish_centered(_of_bytes(lowering, image, weights, 2, CHANNEL_AXES[op.name][0]))
        return
    sums = exact_sums(
        lowering,
        op.name,
        lowering.centered(image),
        lowering.centered(weights),
        None if bias is None else op.constant(2).reshape(-1),
        lowering.reach(image),
        {**op.attrs, ACTIVATION: "NONE", "exact": True},
    )
    sums = lowering.reshape(sums, op.output.shape)
    if weights.dtype == "int4" and (op.name != "FULLY_CONNECTED" or weights.shape[1] % 2):
        lowering.finish_centered(_of_packed_weights(lowering, sums, image, weights))
    else:
        lowering.finish_centered(requantized(lowering, sums, image, weights))


def _check_packed(lowering: Lowering, image: Tensor, weights: Tensor) -> None:
    """UnsupportedError for weights of 4 bits that LiteRT does not unpack."""
    depthwise = lowering.op.name == "DEPTHWISE_CONV_2D"
    if weights.dtype == "int4" and (
        image.dtype == "uint8" or (depthwise and image.dtype != "int8")
    ):
        raise lowering.declined(
            f"its weights are int4, which LiteRT does not unpack beside {image.dtype}"
        )


def _of_packed_weights(lowering: Lowering, sums: Tensor, image: Tensor, weights: Tensor) -> Tensor:
    """As LiteRT's own kernels round them; XNNPACK takes int4 in even numbers of inputs alone."""
    op = lowering.op
    values = lowering.centered(weights).data
    assert values is not None
    axis = CHANNEL_AXES[op.name][0]
    others = tuple(i for i in range(values.ndim) if i != axis)
    most = np.abs(values).sum(others, dtype=np.float64) * lowering.reach(image)
    if op.input(2) is not None:
        most = most + np.abs(op.constant(2).astype(np.float64).reshape(-1))
    lowering.require_exact(most.max(initial=0))
    if op.name == "DEPTHWISE_CONV_2D":
        return _of_own_kernel(lowering, sums, image, weights)
    scales = [np.asarray(lowering.scale(t), np.float64) for t in (image, weights, op.output)]
    factors = scales[0] * scales[1] / scales[2]
    ties_away = float(_grouped(op))
    return rounded_twice(lowering, (lowering.constant(0), sums), factors, ties_away)


def _grouped(op: Op) -> bool:
    """Whether each output channel of a CONV_2D has products with some of the input channels only.

    LiteRT then rounds ties away from zero, where it computes with its own kernels.
    """
    return op.name == "CONV_2D" and op.operand(0).shape[3] != op.operand(1).shape[3]


def _of_bytes(lowering: Lowering, image: Tensor, weights: Tensor, bias: int, axis: int) -> Tensor:
    """The result for an image of int16; `bias` is a position, `axis` that of the outputs."""
    added = lowering.op.input(bias)
    values = None if added is None else lowering.op.constant(bias).reshape(-1)
    filters = lowering.centered(weights)
    sums = sums_of_bytes(lowering, image, filters, values, axis, lambda x, b: _sums(lowering, x, b))
    return _rounded(lowering, sums, image, weights, added)


def _sums(lowering: Lowering, image: Tensor, bias: Array) -> Tensor:
    """The sums of the operator on other operands."""
    op = lowering.op
    attrs = {**op.attrs, ACTIVATION: "NONE", "exact": True}
    weights = lowering.centered(op.operand(1))
    added = lowering.constant(bias)
    if op.name == "TRANSPOSE_CONV":
        sizes = op.operand(0)
        return lowering.add(op.name, sizes, weights, image, added, dtype="float32", **attrs)
    if op.name == "FULLY_CONNECTED":
        image = lowering.reshape(image, (-1, weights.shape[1]))
    return lowering.reshape(lowering.add(op.name, image, weights, added, **attrs), op.output.shape)


def _rounded(
    lowering: Lowering,
    sums: tuple[Tensor, Tensor],
    image: Tensor,
    weights: Tensor,
    bias: Tensor | None,
) -> Tensor:
    """Sums of bytes as int16, by the operator and the type that LiteRT adds the bias in."""
    op = lowering.op
    scales = [np.asarray(lowering.scale(t), np.float64) for t in (image, weights, op.output)]
    factors = scales[0] * scales[1] / scales[2]
    wide = "int64" in (op.attrs.get("quantized_bias_type"), bias and bias.dtype)
    if op.name == "FULLY_CONNECTED":
        if factors.ndim == 0:
            # LiteRT multiplies these two scales in float32.
            factors = np.float64(lowering.scale(image) * lowering.scale(weights)) / scales[2]
        if wide:
            return rounded_once_in_full(lowering, sums, factors)
        return rounded_twice(lowering, sums, factors, 0.0)
    if op.attrs.get("quantized_bias_type") != "int32":
        if bias is not None and bias.dtype != "int64":
            raise lowering.declined("its options do not say that its bias has 32 bits")
        return rounded_once(lowering, sums, factors)
    if op.name != "TRANSPOSE_CONV":
        return rounded_twice(lowering, sums, factors, float(_grouped(op)))
    channels = np.arange(op.output.shape[-1])
    whole = channels.size - channels.size % CHANNEL_BLOCK
    return rounded_twice(lowering, sums, factors, (channels >= whole).astype(np.float32))


def requantized(lowering: Lowering, sums: Tensor, image: Tensor, weights: Tensor) -> Tensor:
    """Sums as integers of the output: scaled by one product of float32, to the nearest even."""
    result = lowering.op.output
    # In this order, as XNNPACK computes it in float32.
    scales = lowering.scale(image) * lowering.scale(weights) / lowering.scale(result)
    low, high = lowering.bounds(result)
    scale = constant(f"{result.name}/scale", np.asarray(scales, np.float32))
    return lowering.add("tflgpu.requantize", sums, scale, low=float(low), high=float(high))


@lowers("TRANSPOSE_CONV")
def transposed_convolution(lowering: Lowering) -> None:
    """The same with the operands in another order: the result's size, weights, image, bias."""
    op = lowering.op
    size, weights, image, bias = op.operand(0), op.operand(1), op.operand(2), op.input(3)
    if not weights.constant or (bias is not None and not bias.constant):
        raise lowering.declined("weights or a bias are computed while the model runs")
    if image.dtype not in INTEGERS:
        hybrid_transposed(lowering)
        return
    if image.dtype == "int16":
        lowering.finish_centered(_of_bytes(lowering, image, weights, 3, 0))
        return
    values = lowering.centered(weights)
    whole = None if bias is None else op.constant(3).reshape(-1)
    attrs = {**op.attrs, ACTIVATION: "NONE", "exact": True}
    x, reach = lowering.centered(image), lowering.reach(image)
    sums = exact_sums(lowering, op.name, x, values, whole, reach, attrs)
    # XNNPACK takes neither a size that the model computes nor strides that leave pixels out.
    if size.folded or _gaps(op, weights):
        lowering.finish_centered(_of_own_kernel(lowering, sums, image, weights))
    else:
        lowering.finish_centered(requantized(lowering, sums, image, weights))


def _gaps(op: Op, weights: Tensor) -> bool:
    """Whether strides leave pixels out, which XNNPACK does not support."""
    strides = op.attrs.get("stride_h", 1), op.attrs.get("stride_w", 1)
    smaller = any(n < stride for n, stride in zip(weights.shape[1:3], strides, strict=True))
    return smaller and op.attrs.get("padding") == "SAME"


def _of_own_kernel(lowering: Lowering, sums: Tensor, image: Tensor, weights: Tensor) -> Tensor:
    """Sums of 8-bit integers as LiteRT's own kernels round them, block by block."""
    result = lowering.op.output
    if result.dtype == "uint8":
        factors = np.float64(lowering.scale(image) * lowering.scale(weights)) / lowering.scale(
            result
        )
        places = np.arange(result.elements).reshape(result.shape)
        block = ELEMENT_BLOCK
    else:
        scales = [np.asarray(lowering.scale(t), np.float64) for t in (image, weights, result)]
        factors = scales[0] * scales[1] / scales[2]
        places, block = np.arange(result.shape[-1]), CHANNEL_BLOCK
    ties_away = (places >= places.size - places.size % block).astype(np.float32)
    return rounded_twice(lowering, (lowering.constant(0), sums), factors, ties_away)
