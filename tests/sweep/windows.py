"""Layers of networks: operators that slide a window over an image, and fully connected ones."""

import struct
from math import prod
from typing import Any

from graphs import Call, Value, call, ints, w
from hypothesis import assume
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import (
    CHANNELS,
    Generator,
    activated,
    constant,
    flag,
    given,
    image,
    number,
    one_in,
    pick,
    shape,
)

PADDINGS = ("SAME", "VALID")
_NUMBERS = {"SAME": 1, "VALID": 2}


def window(draw: DrawFn, source: Shape, dilated: bool = True) -> tuple[Shape, dict[str, Any]]:
    """Rows and columns of a window that fits an image, and its attributes."""
    size = (1, 1) if one_in(draw, 4) else (number(draw, 1, 4), number(draw, 1, 5))
    stride = (1, 1) if flag(draw) else (number(draw, 1, 3), number(draw, 1, 3))
    dilation = (number(draw, 1, 3), number(draw, 1, 3)) if dilated and one_in(draw, 4) else (1, 1)
    padding = pick(draw, PADDINGS)
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    fits = all(n <= extent for n, extent in zip(reach, source[1:3], strict=True))
    assume(fits or padding == "SAME")
    attrs = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    if dilated:
        attrs |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
    return size, attrs


def convolution(draw: DrawFn) -> Call:
    groups = pick(draw, (2, 3, 5)) if one_in(draw, 4) else 1
    inputs, outputs = pick(draw, CHANNELS[:9]), pick(draw, CHANNELS)
    source = (*image(draw)[:3], groups * inputs)
    size, attrs = window(draw, source)
    weights = w(groups * outputs, *size, inputs)
    return activated(draw, "CONV_2D", given(draw, source), weights, w(groups * outputs), **attrs)


def depthwise(draw: DrawFn) -> Call:
    source = image(draw)
    multiplier = pick(draw, (1, 1, 1, 2, 3))
    size, attrs = window(draw, source)
    channels = source[3] * multiplier
    attrs["depth_multiplier"] = multiplier
    weights = w(1, *size, channels), w(channels)
    return activated(draw, "DEPTHWISE_CONV_2D", given(draw, source), *weights, **attrs)


def transposed(draw: DrawFn) -> Call:
    """The output may have any size from which a convolution gives the size of the input."""
    batch, rows, columns, inputs = image(draw, CHANNELS[:10])
    channels, size = pick(draw, CHANNELS), (number(draw, 1, 4), number(draw, 1, 4))
    stride, padding = (number(draw, 1, 3), number(draw, 1, 3)), pick(draw, PADDINGS)
    output = []
    for extent, length, step in zip((rows, columns), size, stride, strict=True):
        spare = number(draw, 0, step - 1)
        valid = (extent - 1) * step + length + spare
        output.append(valid if padding == "VALID" else extent * step - spare)
    attrs = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    operands = [w(channels, *size, inputs), given(draw, (batch, rows, columns, inputs))]
    if flag(draw):
        operands.append(w(channels))
    return call("TRANSPOSE_CONV", ints(batch, *output, channels), *operands, **attrs)


def transposed_with_bias(draw: DrawFn) -> Call:
    _, rows, columns, inputs = image(draw, CHANNELS[:10])
    channels, size = pick(draw, CHANNELS), (number(draw, 1, 4), number(draw, 1, 4))
    stride = number(draw, 1, size[0]), number(draw, 1, size[1])
    raw = struct.pack("<3i", _NUMBERS[pick(draw, PADDINGS)], stride[1], stride[0])
    operands = given(draw, (1, rows, columns, inputs)), w(channels, *size, inputs), w(channels)
    return call("Convolution2DTransposeBias", *operands, custom_options=raw)


def _pool(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Call:
        source = image(draw)
        size, attrs = window(draw, source, dilated=False)
        if one_in(draw, 4):
            size, attrs["padding"] = source[1:3], "VALID"
        attrs |= {"filter_height": size[0], "filter_width": size[1]}
        return activated(draw, operator, given(draw, source), **attrs)

    return generate


def _resize(operator: str) -> Generator:
    def generate(draw: DrawFn) -> Call:
        way = pick(draw, ((False, False), (True, False), (False, True)))
        attrs = dict(zip(("align_corners", "half_pixel_centers"), way, strict=True))
        size = ints(number(draw, 1, 17), number(draw, 1, 17))
        return call(operator, given(draw, image(draw)), size, **attrs)

    return generate


def volume_convolution(draw: DrawFn) -> Call:
    batch, rows, columns, inputs = image(draw, CHANNELS[:6])
    source = (batch, number(draw, 1, 5), rows, columns, inputs)
    size = [number(draw, 1, 3) for _ in range(3)]
    attrs: dict[str, Any] = {f"stride_{letter}": number(draw, 1, 2) for letter in "dhw"}
    attrs |= {f"dilation_{letter}_factor": 1 for letter in "dhw"}
    attrs["padding"] = pick(draw, PADDINGS)
    fits = all(n <= extent for n, extent in zip(size, source[1:4], strict=True))
    assume(fits or attrs["padding"] == "SAME")
    outputs = pick(draw, CHANNELS[:8])
    bias = w(outputs) if flag(draw) else None
    weights = w(*size, inputs, outputs)
    attrs["fused_activation_function"] = pick(draw, ("NONE", "RELU", "RELU6"))
    return call("CONV_3D", given(draw, source), weights, bias, **attrs)


def transposed_volume(draw: DrawFn) -> Call:
    """The output may have any size from which a convolution gives the size of the input."""
    batch, rows, columns, inputs = image(draw, CHANNELS[:6])
    extents = number(draw, 1, 4), min(rows, 5), min(columns, 5)
    size = [number(draw, 1, 3) for _ in range(3)]
    strides = [number(draw, 1, 2) for _ in range(3)]
    padding = pick(draw, PADDINGS)
    output = []
    for extent, length, step in zip(extents, size, strides, strict=True):
        spare = number(draw, 0, step - 1)
        valid = (extent - 1) * step + length + spare
        output.append(valid if padding == "VALID" else extent * step - spare)
    attrs: dict[str, Any] = {"padding": padding}
    for letter, step in zip("dhw", strides, strict=True):
        attrs |= {f"stride_{letter}": step, f"dilation_{letter}_factor": 1}
    outputs = pick(draw, CHANNELS[:8])
    operands = ints(batch, *output, outputs), w(*size, outputs, inputs)
    bias = w(outputs) if flag(draw) else None
    return call(
        "CONV_3D_TRANSPOSE", *operands, given(draw, (batch, *extents, inputs)), bias, **attrs
    )


def fully_connected(draw: DrawFn) -> Call:
    sizes = shape(draw, (1, 2, 3, 4, 5))
    keeps, width = flag(draw), sizes[-1]
    if not keeps and one_in(draw, 3):
        width = prod(sizes[1:]) if len(sizes) > 1 else sizes[0]
    outputs = pick(draw, CHANNELS)
    bias = w(outputs) if flag(draw) else None
    weights: Value = constant(draw, (outputs, width))
    operands = given(draw, sizes), weights, bias
    return activated(draw, "FULLY_CONNECTED", *operands, keep_num_dims=keeps)


GENERATORS: dict[str, Generator] = {
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "CONV_2D": convolution,
    "CONV_3D": volume_convolution,
    "CONV_3D_TRANSPOSE": transposed_volume,
    "Convolution2DTransposeBias": transposed_with_bias,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "L2_POOL_2D": _pool("L2_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "TRANSPOSE_CONV": transposed,
}
