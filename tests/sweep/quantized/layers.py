"""Layers with weights: convolutions, fully connected layers and products of matrices."""

from math import prod

import numpy as np
from graphs import Call, Constant, Input, call, ints, w
from hypothesis import assume
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from ..draws import ACTIVATIONS, CHANNELS, Generator, flag, image, number, one_in, pick
from ..windows import PADDINGS, window
from .draws import ALL, Kind, bias, kind, of_sums, result, source, weights

WEIGHTS = {"int8": "int8", "uint8": "uint8", "int16": "int8"}


def _weights_type(draw: DrawFn, dtype: str) -> str:
    """Of 4 bits once in four times."""
    return "int4" if dtype != "uint8" and one_in(draw, 4) else WEIGHTS[dtype]


def _bias_type(draw: DrawFn, dtype: str) -> str:
    return pick(draw, ("int32", "int64")) if dtype == "int16" else "int32"


def _options(draw: DrawFn, added: Constant | None) -> dict[str, str]:
    """An activation, and the type of the bias where it matters."""
    dtype = "int32" if added is None or added.values is None else added.values.dtype.name
    activation = pick(draw, ACTIVATIONS)
    return {"fused_activation_function": activation, "quantized_bias_type": dtype}


def _by_channel(draw: DrawFn, dtype: str) -> bool:
    return dtype != "uint8" and not one_in(draw, 3)


def convolution(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    inputs, outputs = pick(draw, CHANNELS[:9]), pick(draw, CHANNELS)
    shape = (*image(draw)[:3], inputs)
    size, attrs = window(draw, shape)
    how = kind(draw, dtype)
    own = _weights_type(draw, dtype)
    values, scales = weights(draw, (outputs, *size, inputs), 0, own, _by_channel(draw, dtype))
    sums = np.float32(how.scale) * scales
    added = bias(draw, sums, outputs, _bias_type(draw, dtype))
    given = of_sums(draw, dtype, sums, prod(size) * inputs)
    attrs |= _options(draw, added)
    return result("CONV_2D", source(shape, how), values, added, how=given, **attrs)


def depthwise(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    shape = image(draw)
    multiplier = pick(draw, (1, 1, 2, 3))
    size, attrs = window(draw, shape)
    outputs = shape[3] * multiplier
    how = kind(draw, dtype)
    own = _weights_type(draw, dtype) if dtype == "int8" else WEIGHTS[dtype]
    by_channel = dtype == "int16" or _by_channel(draw, dtype)
    values, scales = weights(draw, (1, *size, outputs), 3, own, by_channel)
    sums = np.float32(how.scale) * scales
    added = bias(draw, sums, outputs, "int64" if dtype == "int16" else "int32")
    given = of_sums(draw, dtype, sums, prod(size))
    attrs |= {"depth_multiplier": multiplier, "fused_activation_function": pick(draw, ACTIVATIONS)}
    return result("DEPTHWISE_CONV_2D", source(shape, how), values, added, how=given, **attrs)


def _rows(draw: DrawFn, inputs: int) -> Shape:
    """Of a fully connected layer: a matrix, or columns that it flattens."""
    return (number(draw, 1, 5), inputs, *([1] if one_in(draw, 4) else []))


def fully_connected(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    inputs = pick(draw, (*CHANNELS, 101, 509)) if dtype != "int16" else pick(draw, CHANNELS)
    outputs = pick(draw, CHANNELS)
    how = kind(draw, dtype)
    by_channel = dtype == "int8" and flag(draw)
    own = "int2" if dtype == "int8" and one_in(draw, 5) else _weights_type(draw, dtype)
    values, scales = weights(draw, (outputs, inputs), 0, own, by_channel)
    sums = np.float32(how.scale) * scales
    added = bias(draw, sums, outputs, _bias_type(draw, dtype)) if not one_in(draw, 4) else None
    given = of_sums(draw, dtype, sums, inputs)
    operands = (source(_rows(draw, inputs), how), values, added)
    return result("FULLY_CONNECTED", *operands, how=given, **_options(draw, added))


def transposed(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    batch, rows, columns, inputs = image(draw, CHANNELS[:10])
    channels, size = pick(draw, CHANNELS), (number(draw, 1, 4), number(draw, 1, 4))
    stride, padding = (number(draw, 1, 3), number(draw, 1, 3)), pick(draw, PADDINGS)
    output = [
        (extent - 1) * step + length if padding == "VALID" else extent * step
        for extent, length, step in zip((rows, columns), size, stride, strict=True)
    ]
    assume(min(output) > 0)
    how = kind(draw, dtype)
    values, scales = weights(
        draw, (channels, *size, inputs), 0, WEIGHTS[dtype], _by_channel(draw, dtype)
    )
    sums = np.float32(how.scale) * scales
    added = bias(draw, sums, channels, _bias_type(draw, dtype))
    given = of_sums(draw, dtype, sums, prod(size) * inputs)
    attrs = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    attrs |= _options(draw, added)
    whole = ints(batch, *output, channels)
    operands = (whole, values, source((batch, rows, columns, inputs), how), added)
    return result("TRANSPOSE_CONV", *operands, how=given, **attrs)


def batch_matmul(draw: DrawFn) -> Call:
    dtype = pick(draw, ("int8", "int8", "int16"))
    batch, rows, inner, columns = number(draw, 1, 3), *(pick(draw, CHANNELS) for _ in range(3))
    first = kind(draw, dtype)
    second = kind(draw, dtype)
    if flag(draw):
        second = Kind(dtype, second.scale, 0)
    transposed_first, transposed_second = flag(draw), flag(draw)
    shapes = (
        (batch, inner, rows) if transposed_first else (batch, rows, inner),
        (batch, columns, inner) if transposed_second else (batch, inner, columns),
    )
    middle = first.scale * second.scale * np.sqrt(inner) * (32768 if dtype == "int16" else 128) / 3
    given = kind(draw, dtype, float(middle), 2.0)
    attrs = {"adj_x": transposed_first, "adj_y": transposed_second}
    operands = (source(shapes[0], first), source(shapes[1], second))
    return result("BATCH_MATMUL", *operands, how=given, **attrs)


def hybrid(draw: DrawFn) -> Call:
    """Integer weights, and operands of floats that are quantized while the model runs."""
    inputs, outputs = pick(draw, CHANNELS), pick(draw, CHANNELS)
    by_channel = flag(draw)
    activation = pick(draw, ACTIVATIONS)
    if flag(draw):
        dtype = pick(draw, ("int8", "int4", "int2"))
        values, _ = weights(draw, (outputs, inputs), 0, dtype, by_channel)
        rows = Input(_rows(draw, inputs))
        attrs = {"asymmetric_quantize_inputs": flag(draw), "fused_activation_function": activation}
        return call("FULLY_CONNECTED", rows, values, None, **attrs)
    shape = (*image(draw)[:3], inputs)
    size, attrs = window(draw, shape)
    dtype = pick(draw, ("int8", "int4"))
    values, _ = weights(draw, (outputs, *size, inputs), 0, dtype, by_channel)
    attrs["fused_activation_function"] = activation
    return call("CONV_2D", Input(shape), values, w(outputs), **attrs)


GENERATORS: dict[str, Generator] = {
    "quantized BATCH_MATMUL": batch_matmul,
    "quantized CONV_2D": convolution,
    "quantized DEPTHWISE_CONV_2D": depthwise,
    "quantized FULLY_CONNECTED": fully_connected,
    "quantized TRANSPOSE_CONV": transposed,
    "quantized weights": hybrid,
}
