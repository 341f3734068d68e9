"""Convolutions and depthwise convolutions."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import Call, Input, Value, call, known, w, x

from tflgpu.compiler.ir import Shape

from .case import ACTIVATIONS, Case

SAME_OR_VALID = ("SAME", "VALID")


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
    yield row("1x1 few pixels", x(2, 3, 5, 64), (37, 64), (1, 1))
    yield row("few pixels", x(2, 3, 5, 72), (37, 72), (3, 3))
    yield row("few pixels by 2", x(2, 7, 5, 64), (19, 64), (3, 2), **window("SAME", (2, 2)))
    yield row("few pixels VALID", x(1, 5, 7, 48), (19, 48), (3, 3), **window("VALID"))
    few = conv(x(1, 7, 7, 128), (41, 128), (1, 1), fused_activation_function="RELU6")
    yield Case("CONV_2D", "1x1 few pixels, fused", call("ADD", few, x(1, 7, 7, 41)))
    yield row("1x1 batch of pixels", x(7, 1, 1, 37), (41, 37), (1, 1))
    yield row("1x1 one column", x(2, 29, 1, 5), (37, 5), (1, 1))
    tall = window("SAME", (2, 3), (1, 1))
    yield row("one column by 2", x(2, 29, 1, 37), (41, 37), (4, 1), **tall)
    dilated = conv(x(2, 29, 1, 16), (32, 8), (3, 1), **window("VALID", dilation=(2, 1)))
    yield Case("CONV_2D", "groups of one column", call("ADD", dilated, x(1, 25, 1, 32)))
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
    yield row("a group for each channel", x(2, 7, 11, 19), (19, 1), **by_two)
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
        attrs = window(padding, (1, 2), (2, 1))
        yield row(f"{padding} with a large window", x(2, 13, 31, 5), 1, (5, 11), **attrs)
    for channels, multiplier in ((1, 7), (3, 2), (16, 2), (5, 3)):
        yield row(f"{channels} times {multiplier}", x(2, 5, 7, channels), multiplier)
    yield row("times 2 VALID by 2", x(2, 7, 11, 3), 2, **window("VALID", (2, 2)))
    yield row("times 2 dilated", x(2, 7, 11, 3), 2, **window("SAME", dilation=(2, 2)))
    for padding in SAME_OR_VALID:
        attrs = window(padding, (2, 3))
        yield row(f"{padding} one column by 2", x(2, 29, 1, 40), 1, (5, 1), **attrs)
    dilated = depthwise(x(2, 29, 1, 64), 1, (3, 1), **window("VALID", dilation=(2, 1)))
    yield Case("DEPTHWISE_CONV_2D", "one column, fused", call("ADD", dilated, x(1, 25, 1, 64)))
    for channels in (5, 37):
        value = depthwise(x(2, 11, 13, channels, draw="NaN at times"))
        situation = f"{channels} channels with NaN"
        yield Case("DEPTHWISE_CONV_2D", situation, value, kernels="XNNPACK")
    image, weights, zeros = x(2, 5, 7, 5), w(1, 3, 3, 5), known(np.zeros(5, np.float32))
    options = {**window(), "depth_multiplier": 1}
    value = call("DEPTHWISE_CONV_2D", image, weights, **options)
    same = call("DEPTHWISE_CONV_2D", image, weights, zeros, **options)
    yield Case("DEPTHWISE_CONV_2D", "without bias", value, oracle=same)
    yield row("window as large as the image", x(3, 5, 7, 11), 1, (5, 7), **window("VALID"))
    for activation in ACTIVATIONS:
        attrs = {"fused_activation_function": activation}
        yield row(f"with {activation}", x(2, 5, 7, 5), **attrs)


TABLES = (convolutions, depthwise_convolutions)
