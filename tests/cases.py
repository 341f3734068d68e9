"""Every situation an operator is tested in: a row each, run on all devices against LiteRT.

Sizes are prime and no multiples of the slice widths 4, 8 and 16, except where the row is about
such multiples. Batches are larger than one wherever the operator allows it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from case import ACTIVATIONS, Case
from cases_elementwise import binary_operators, unary_operators
from cases_more import everything as more
from cases_moves import (
    concatenations,
    pads,
    reductions,
    reshapes,
    slices,
    splits,
    strided_slices,
    transposes,
)
from cases_recognised import recognised
from expressions import Call, Input, Value, call, ints, known, w, x

from tflgpu.compiler.ir import Quantization, Shape

SAME_OR_VALID = ("SAME", "VALID")


# -- convolutions -----------------------------------------------------------------------------


def window(
    padding: str = "SAME", stride: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1)
) -> dict[str, Any]:
    """Attributes of a convolution, sizes in (rows, columns)."""
    return {
        "padding": padding,
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
    }


def conv(image: Value, channels: Shape, size: Shape = (3, 3), **attrs: Any) -> Call:
    """A convolution with bias and weights for (outputs, inputs of a group)."""
    outputs, inputs = channels
    weights = w(outputs, *size, inputs)
    return call("CONV_2D", image, weights, w(outputs), **{**window(), **attrs})


def convolutions() -> Iterator[Case]:
    def row(situation: str, *arguments: Any, **attrs: Any) -> Case:
        return Case("CONV_2D", situation, conv(*arguments, **attrs))

    for padding in SAME_OR_VALID:
        for stride in ((1, 1), (2, 2), (3, 1), (1, 2)):
            attrs = window(padding, stride)
            yield row(f"{padding} by {stride}", x(2, 11, 13, 5), (7, 5), **attrs)
        for dilation in ((2, 2), (1, 3)):
            attrs = window(padding, dilation=dilation)
            yield row(f"{padding} dilated {dilation}", x(2, 11, 13, 3), (19, 3), **attrs)
        attrs = window(padding, (2, 2))
        yield row(f"{padding} even window", x(1, 11, 13, 17), (5, 17), (4, 2), **attrs)
        yield row(f"{padding} one row", x(2, 1, 29, 5), (7, 5), (1, 5), **window(padding))
        yield row(f"{padding} one column", x(2, 29, 1, 5), (7, 5), (5, 1), **window(padding))
    for inputs, outputs in ((1, 1), (3, 37), (16, 16), (32, 48), (37, 3), (4, 20), (17, 64)):
        channels = (outputs, inputs)
        yield row(f"{inputs} to {outputs}", x(2, 5, 7, inputs), channels)
        yield row(f"1x1 {inputs} to {outputs}", x(2, 5, 7, inputs), channels, (1, 1))
    for padding in SAME_OR_VALID:
        image = x(2, 14, 19, 19)
        yield row(f"{padding} of 4x4 squares", image, (37, 19), **window(padding))
    yield row("37 to 2 by 2", x(2, 7, 11, 37), (2, 37), **window("SAME", (2, 2)))
    yield row("16 to 1 dilated", x(1, 11, 13, 16), (1, 16), **window("VALID", dilation=(2, 3)))
    yield row("1x1 one pixel", x(1, 1, 1, 37), (41, 37), (1, 1))
    yield row("1x1 one pixel of many channels", x(1, 1, 1, 131), (37, 131), (1, 1))
    yield row("1x1 batch of pixels", x(7, 1, 1, 37), (41, 37), (1, 1))
    yield row("1x1 by 2", x(2, 7, 11, 5), (7, 5), (1, 1), **window("SAME", (2, 2)))
    for size in ((1, 1), (3, 3)):
        image, weights, zeros = x(2, 5, 7, 5), w(7, *size, 5), known(np.zeros(7, np.float32))
        value = call("CONV_2D", image, weights, **window())
        same = call("CONV_2D", image, weights, zeros, **window())
        yield Case("CONV_2D", f"{size} without bias", value, oracle=same)
    yield row("no batch", x(0, 5, 7, 3), (11, 3), **window("VALID"))
    beside = known(np.array([[0, 0], [0, 0], [2, 2], [0, 0]], np.int32))
    yield row("no columns", call("PAD", x(1, 5, 0, 3), beside), (11, 3), **window("VALID"))
    yield row("window larger than the image", x(1, 2, 3, 5), (7, 5), (5, 7))
    yield row("window as large as the image", x(3, 5, 7, 3), (11, 3), (5, 7), **window("VALID"))
    for groups, inputs, outputs in ((3, 2, 5), (2, 16, 16), (2, 32, 16), (5, 1, 1), (2, 8, 24)):
        image = x(2, 5, 7, groups * inputs)
        channels = (groups * outputs, inputs)
        yield row(f"{groups} groups {inputs} to {outputs}", image, channels)
        yield row(f"1x1 {groups} groups {inputs} to {outputs}", image, channels, (1, 1))
    by_two = window("VALID", (2, 2))
    yield row("groups VALID by 2", x(2, 7, 11, 6), (9, 2), **by_two)
    yield row("whole groups VALID by 2", x(2, 7, 11, 32), (32, 16), **by_two)
    for activation in ACTIVATIONS:
        attrs = {"fused_activation_function": activation}
        yield row(f"with {activation}", x(2, 5, 7, 5), (7, 5), **attrs)


def depthwise(image: Input, multiplier: int = 1, size: Shape = (3, 3), **attrs: Any) -> Call:
    channels = image.shape[3] * multiplier
    options = {**window(), "depth_multiplier": multiplier, **attrs}
    return call("DEPTHWISE_CONV_2D", image, w(1, *size, channels), w(channels), **options)


def depthwise_convolutions() -> Iterator[Case]:
    def row(situation: str, *arguments: Any, **attrs: Any) -> Case:
        return Case("DEPTHWISE_CONV_2D", situation, depthwise(*arguments, **attrs))

    for padding in SAME_OR_VALID:
        for stride in ((1, 1), (2, 2), (3, 3)):
            attrs = window(padding, stride)
            yield row(f"{padding} by {stride}", x(2, 11, 13, 5), **attrs)
        attrs = window(padding, dilation=(2, 3))
        yield row(f"{padding} dilated", x(2, 11, 13, 19), **attrs)
        yield row(f"{padding} even window", x(2, 11, 13, 7), 1, (2, 4), **window(padding))
    for channels in (1, 16, 32, 37):
        yield row(f"{channels} channels", x(2, 5, 7, channels))
    for padding in SAME_OR_VALID:
        yield row(f"{padding} wide", x(1, 5, 37, 5), 1, (3, 5), **window(padding))
        yield row(f"{padding} wide by 2", x(1, 5, 59, 5), 1, (5, 5), **window(padding, (2, 2)))
        yield row(f"{padding} wide dilated", x(1, 5, 43, 5), **window(padding, dilation=(2, 9)))
    for channels, multiplier in ((1, 7), (3, 2), (16, 2), (5, 3)):
        yield row(f"{channels} times {multiplier}", x(2, 5, 7, channels), multiplier)
    yield row("times 2 VALID by 2", x(2, 7, 11, 3), 2, **window("VALID", (2, 2)))
    yield row("times 2 dilated", x(2, 7, 11, 3), 2, **window("SAME", dilation=(2, 2)))
    image, weights, zeros = x(2, 5, 7, 5), w(1, 3, 3, 5), known(np.zeros(5, np.float32))
    options = {**window(), "depth_multiplier": 1}
    value = call("DEPTHWISE_CONV_2D", image, weights, **options)
    same = call("DEPTHWISE_CONV_2D", image, weights, zeros, **options)
    yield Case("DEPTHWISE_CONV_2D", "without bias", value, oracle=same)
    yield row("window as large as the image", x(3, 5, 7, 11), 1, (5, 7), **window("VALID"))
    for activation in ACTIVATIONS:
        attrs = {"fused_activation_function": activation}
        yield row(f"with {activation}", x(2, 5, 7, 5), **attrs)


def transposed(
    image: Input, channels: int, size: Shape, output: Shape, bias: bool, **attrs: Any
) -> Call:
    weights = w(channels, *size, image.shape[3])
    shape = ints(image.shape[0], *output, channels)
    operands: list[Value] = [shape, weights, image, *([w(channels)] if bias else [])]
    return call("TRANSPOSE_CONV", *operands, **attrs)


def transpose_convolutions() -> Iterator[Case]:
    for padding in SAME_OR_VALID:
        for size, stride in (
            ((3, 3), (2, 2)),
            ((2, 2), (2, 2)),
            ((4, 3), (2, 3)),
            ((5, 5), (1, 1)),
        ):
            rows, columns = 5, 7
            output = (rows * stride[0], columns * stride[1])
            if padding == "VALID":
                output = ((rows - 1) * stride[0] + size[0], (columns - 1) * stride[1] + size[1])
            attrs = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
            situation = f"{padding} {size} by {stride}"
            value = transposed(x(2, rows, columns, 5), 7, size, output, True, **attrs)
            yield Case("TRANSPOSE_CONV", situation, value)
            number = {"SAME": 1, "VALID": 2}[padding]
            raw = struct.pack("<3i", number, stride[1], stride[0])
            operands = (x(1, rows, columns, 5), w(7, *size, 5), w(7))
            value = call("Convolution2DTransposeBias", *operands, custom_options=raw)
            yield Case("Convolution2DTransposeBias", situation, value)
    attrs = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    odd = transposed(x(2, 5, 7, 3), 17, (3, 3), (9, 13), False, **attrs)
    yield Case("TRANSPOSE_CONV", "SAME odd output without bias", odd)
    long = transposed(x(1, 2, 67, 3), 33, (3, 3), (4, 133), True, **attrs)
    yield Case("TRANSPOSE_CONV", "SAME long rows", long)
    wide = transposed(x(1, 3, 5, 32), 16, (2, 2), (6, 10), True, **attrs)
    yield Case("TRANSPOSE_CONV", "32 to 16", wide)
    for side, channels in ((2, 1), (2, 3), (3, 4), (4, 3), (2, 8), (2, 19), (3, 35), (4, 21)):
        attrs = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        value = transposed(x(2, 3, 23, 19), channels, (side, side), (5, 46), True, **attrs)
        value = call("TANH", call("ADD", call("LOGISTIC", value), known(np.float32(0.5))))
        yield Case("TRANSPOSE_CONV", f"SAME 19 to {channels} {side}x{side}", value)
        output = (5 + side, 45 + side)
        attrs["padding"] = "VALID"
        value = transposed(x(2, 3, 23, 19), channels, (side, side), output, False, **attrs)
        value = call("ADD", call("RELU", value), x(2, *output, channels))
        yield Case("TRANSPOSE_CONV", f"VALID 19 to {channels} {side}x{side}", value)
    for size, padding, output in (((3, 3), "SAME", (5, 7)), ((5, 2), "VALID", (9, 8))):
        attrs = {"padding": padding, "stride_h": 1, "stride_w": 1}
        value = transposed(x(2, 5, 7, 3), 11, size, output, True, **attrs)
        yield Case("TRANSPOSE_CONV", f"{padding} {size} by 1", value)
    raw = struct.pack("<3i", 1, 2, 2)
    operands = (x(1, 3, 5, 32), w(16, 4, 4, 32), w(16))
    wide = call("Convolution2DTransposeBias", *operands, custom_options=raw)
    yield Case("Convolution2DTransposeBias", "32 to 16", wide)


def fully_connected_layers() -> Iterator[Case]:
    def row(situation: str, image: Shape, weights: Shape, bias: bool = True, **attrs: Any) -> Case:
        operands = (x(*image), w(*weights), w(weights[0]) if bias else None)
        return Case("FULLY_CONNECTED", situation, call("FULLY_CONNECTED", *operands, **attrs))

    yield row("one row", (1, 37), (41, 37))
    yield row("one long row", (1, 131), (37, 131))
    yield row("many rows", (29, 37), (41, 37))
    yield row("multiples of the slice", (5, 32), (64, 32))
    yield row("to one", (3, 19), (1, 19))
    yield row("from one", (3, 1), (19, 1))
    yield row("without bias", (3, 7), (5, 7), False)
    yield row("rank 4 input", (3, 2, 5, 7), (11, 70))
    yield row("rank 4 input cut into rows", (3, 2, 5, 7), (11, 7))
    yield row("rank 4 input cut across channels", (2, 3, 5, 6), (11, 2))
    yield row("rank 3 kept", (2, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 4 kept", (2, 3, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 5 kept", (2, 3, 2, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 1", (35,), (11, 7))
    for activation in ACTIVATIONS:
        layer = (f"with {activation}", (3, 7), (19, 7), True)
        yield row(*layer, fused_activation_function=activation)


# -- pools, resizes, softmax ------------------------------------------------------------------


def pools() -> Iterator[Case]:
    for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for padding in SAME_OR_VALID:
            for size, stride in (((2, 2), (2, 2)), ((3, 3), (1, 1)), ((3, 5), (2, 3))):
                attrs = {"filter_height": size[0], "filter_width": size[1], "padding": padding}
                attrs |= {"stride_h": stride[0], "stride_w": stride[1]}
                value = call(operator, x(2, 7, 11, 19), **attrs)
                yield Case(operator, f"{padding} {size} by {stride}", value)
        whole = {"filter_height": 7, "filter_width": 11, "padding": "VALID"}
        whole |= {"stride_h": 1, "stride_w": 1}
        yield Case(operator, "whole image", call(operator, x(3, 7, 11, 16), **whole))
        deep = {**whole, "filter_height": 3, "filter_width": 3, "padding": "SAME"}
        yield Case(operator, "deep values", call(operator, x(2, 5, 7, 3, draw="deep"), **deep))
        for activation in ACTIVATIONS:
            attrs = {**deep, "fused_activation_function": activation}
            yield Case(operator, f"with {activation}", call(operator, x(2, 5, 7, 3), **attrs))


def resizes() -> Iterator[Case]:
    ways = {
        "plain": {"align_corners": False, "half_pixel_centers": False},
        "aligned corners": {"align_corners": True, "half_pixel_centers": False},
        "half pixels": {"align_corners": False, "half_pixel_centers": True},
    }
    sizes = ((14, 22), (13, 17), (5, 3), (1, 1), (2, 29))
    for operator in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for way, attrs in ways.items():
            for size in sizes:
                value = call(operator, x(2, 7, 11, 5), ints(*size), **attrs)
                yield Case(operator, f"{way} to {size}", value)
            one = call(operator, x(2, 1, 1, 17), ints(5, 7), **attrs)
            yield Case(operator, f"{way} from one pixel", one)
            wide = call(operator, x(1, 3, 5, 32), ints(6, 10), **attrs)
            yield Case(operator, f"{way} 32 channels", wide)


def softmaxes() -> Iterator[Case]:
    for shape in ((37,), (3, 16), (3, 1), (2, 5, 7), (2, 3, 5, 19), (2, 3, 5, 32), (2, 3, 2, 5, 7)):
        yield Case("SOFTMAX", f"{shape}", call("SOFTMAX", x(*shape), beta=1.0))
    for beta in (0.25, 3.0):
        yield Case("SOFTMAX", f"beta {beta}", call("SOFTMAX", x(2, 3, 5, 7), beta=beta))
    large = call("SOFTMAX", x(3, 1001, draw="wide"), beta=1.0)
    yield Case("SOFTMAX", "large values, many of them", large)
    deep = call("SOFTMAX", x(2, 5, 7, draw="deep"), beta=1.0)
    yield Case("SOFTMAX", "deep values", deep)


# -- constants --------------------------------------------------------------------------------


def dequantizations() -> Iterator[Case]:
    random = np.random.default_rng(17)
    half = known(random.standard_normal((7, 3, 3, 5)).astype(np.float16))
    weights = Call("DEQUANTIZE", (half,))
    value = call("CONV_2D", x(2, 5, 7, 5), weights, w(7), **window())
    yield Case("DEQUANTIZE", "float16 weights", value)
    for dtype, zero in (("int8", -3), ("uint8", 128), ("int16", 0)):
        info = np.iinfo(dtype)
        whole = random.integers(info.min, info.max, (5, 7)).astype(dtype)
        constant = known(whole, Quantization((0.037,), (zero,)))
        scaled = Call("DEQUANTIZE", (constant,))
        yield Case("DEQUANTIZE", f"{dtype}", call("MUL", x(2, 5, 7), scaled))
    rows = Quantization((0.5, 0.25, 0.125, 0.75, 1.5), (0,) * 5, 0)
    whole = random.integers(-127, 127, (5, 7)).astype(np.int8)
    scaled = Call("DEQUANTIZE", (known(whole, rows),))
    yield Case("DEQUANTIZE", "a scale for each row", call("ADD", x(5, 7), scaled))
    counts = Call("CAST", (ints(3, -5, 7),), {"in_data_type": "int32", "out_data_type": "float32"})
    yield Case("CAST", "of a constant", call("MUL", x(5, 3), counts))


# -- operators fused into others --------------------------------------------------------------


def producers() -> dict[str, Value]:
    """Operators that others can be fused into; each gives [2, 3, 5, 19]."""
    pool = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1, "padding": "SAME"}
    transposition = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    return {
        "convolution": conv(x(2, 3, 5, 7), (19, 7)),
        "1x1 convolution": conv(x(2, 3, 5, 7), (19, 7), (1, 1)),
        "grouped convolution": conv(x(2, 3, 5, 38), (19, 2)),
        "depthwise convolution": depthwise(x(2, 3, 5, 19)),
        "transposed convolution": transposed(
            x(2, 3, 5, 7), 19, (3, 3), (3, 5), True, **transposition
        ),
        "fully connected": call(
            "FULLY_CONNECTED", x(2, 3, 5, 7), w(19, 7), w(19), keep_num_dims=True
        ),
        "average pool": call("AVERAGE_POOL_2D", x(2, 3, 5, 19), **pool),
        "maximum pool": call("MAX_POOL_2D", x(2, 3, 5, 19), **pool),
        "resize": call("RESIZE_BILINEAR", x(2, 2, 7, 19), ints(3, 5)),
        "nearest resize": call("RESIZE_NEAREST_NEIGHBOR", x(2, 2, 7, 19), ints(3, 5)),
        "softmax": call("SOFTMAX", x(2, 3, 5, 19), beta=1.0),
        "slice": call("SLICE", x(2, 5, 7, 23), ints(0, 1, 2, 3), ints(2, 3, 5, 19)),
        "pad": call(
            "PAD", x(2, 2, 5, 19), known(np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32))
        ),
        "transpose": call("TRANSPOSE", x(2, 19, 3, 5), ints(0, 2, 3, 1)),
        "concatenation": call("CONCATENATION", x(2, 3, 5, 16), x(2, 3, 5, 3), axis=3),
        "ragged concatenation": call("CONCATENATION", x(2, 3, 5, 3), x(2, 3, 5, 16), axis=3),
        "mean": call("MEAN", x(2, 4, 3, 5, 19), ints(1), keep_dims=False),
        "reshape": call("RESHAPE", x(2, 15, 19), ints(2, 3, 5, 19)),
        "addition": call("ADD", x(2, 3, 5, 19), x(2, 3, 5, 19)),
    }


def fusions() -> Iterator[Case]:
    """A producer and a chain of elementwise operators whose operands broadcast in every way."""
    for situation, produced in producers().items():
        value = call("ADD", produced, x(2, 3, 5, 19))
        value = call("MUL", call("RELU", value), w(19))
        value = call("SUB", x(2, 1, 1, 19), value)
        value = call("MAXIMUM", value, w(2, 3, 1, 1))
        value = call("DIV", value, x(1, 3, 5, 1, draw="away from zero"))
        yield Case("fused", f"chain on {situation}", call("TANH", value))
    for axis in ((1,), (1, 2), (2,)):
        mean = call("MEAN", x(2, 7, 11, 19), ints(*axis), keep_dims=True)
        square = call("SQUARED_DIFFERENCE", mean, w(19))
        yield Case("fused", f"mean over {axis}", call("SQRT", call("ADD", square, w(1))))
    image = x(2, 3, 5, 19)
    gated = conv(image, (19, 19), (1, 1))
    yield Case("fused", "swish", call("MUL", gated, call("LOGISTIC", gated)))
    yield Case("fused", "value used twice", call("MUL", call("ABS", gated), call("SQUARE", gated)))
    residual = call("ADD", conv(image, (19, 19)), image)
    yield Case("fused", "residual", call("RELU6", residual))
    both = call("ADD", conv(image, (19, 19)), conv(image, (19, 19), (1, 1)))
    yield Case("fused", "two convolutions", both)
    squeezed = call("MEAN", image, ints(1, 2), keep_dims=True)
    gate = call("LOGISTIC", conv(squeezed, (19, 19), (1, 1)))
    yield Case("fused", "squeeze and excite", call("MUL", image, gate))
    flat = call("RESHAPE", conv(image, (7, 19)), ints(2, 105))
    yield Case("fused", "dense after a reshape", call("FULLY_CONNECTED", flat, w(11, 105), w(11)))
    scaled = call("ADD", call("MUL", conv(image, (7, 19)), w(7)), w(1, 1, 1, 7))
    yield Case("fused", "batch normalization", call("RELU", scaled))
    doubled = call("DIV", call("SUB", depthwise(image), w(19)), w(1, draw="away from zero"))
    yield Case("fused", "scaled depthwise convolution", doubled)
    table = known(np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.int32))
    padded = conv(call("PAD", image, table), (7, 19), **window("VALID", (2, 2)))
    yield Case("fused", "padded convolution", padded)
    padded = conv(call("PAD", image, table), (7, 19))
    yield Case("fused", "padded SAME convolution", padded)
    behind = known(np.array([[0, 0], [0, 0], [0, 0], [0, 12]], np.int32))
    shortcut = call("PAD", x(2, 3, 5, 7), behind)
    yield Case(
        "fused", "padded shortcut", call("RELU", call("ADD", conv(image, (19, 19)), shortcut))
    )
    shuffled = call("RESHAPE", call("ABS", x(2, 3, 5, 6)), ints(2, 3, 5, 2, 3))
    shuffled = call("TRANSPOSE", shuffled, ints(0, 1, 2, 4, 3))
    shuffled = call("RESHAPE", shuffled, ints(2, 3, 5, 6))
    yield Case("fused", "channel shuffle", call("RELU", shuffled))
    early = call("ABS", image)
    yield Case("fused", "an inner value is an output", [early, conv(early, (7, 19))])
    yield Case("fused", "an output twice removed", [early, call("RESHAPE", early, ints(2, 285))])
    yield Case("fused", "an input is an output", [call("RESHAPE", image, ints(2, 3, 95)), early])
    norm = call("SUB", image, call("MEAN", image, ints(3), keep_dims=True))
    spread = call("MEAN", call("SQUARE", norm), ints(3), keep_dims=True)
    deviation = call("RSQRT", call("ADD", spread, known(np.array([0.001], np.float32))))
    layer = call("ADD", call("MUL", call("MUL", norm, deviation), w(19)), w(19))
    yield Case("fused", "layer normalization", layer)


def _all() -> Iterator[Case]:
    for table in (
        convolutions,
        depthwise_convolutions,
        transpose_convolutions,
        fully_connected_layers,
        pools,
        resizes,
        softmaxes,
        unary_operators,
        binary_operators,
        pads,
        reshapes,
        slices,
        strided_slices,
        splits,
        concatenations,
        transposes,
        reductions,
        dequantizations,
        fusions,
    ):
        yield from table()


CASES = (*_all(), *more(), *recognised())


def families() -> dict[str, tuple[Case, ...]]:
    """The cases of each operator."""
    found: dict[str, tuple[Case, ...]] = {}
    for case in CASES:
        found[case.operator] = (*found.get(case.operator, ()), case)
    return found
