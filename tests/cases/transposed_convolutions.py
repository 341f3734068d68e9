"""Transposed convolutions."""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import Call, Input, Value, call, ints, known, w, x

from tflgpu.compiler.ir import Shape

from .case import Case
from .convolutions import SAME_OR_VALID


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
    last = transposed(x(1, 2, 64, 16), 32, (3, 3), (4, 128), True, **attrs)
    yield Case("TRANSPOSE_CONV", "SAME whose last tiles reach beyond rows", last)
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


def volumes() -> Iterator[Case]:
    for padding, size in (("SAME", (4, 6, 7)), ("VALID", (6, 7, 9))):
        for bias in (None, w(5)):
            options = {"padding": padding, "stride_d": 2, "stride_h": 2, "stride_w": 2}
            options |= {f"dilation_{letter}_factor": 1 for letter in "dhw"}
            operands = ints(2, *size, 5), w(3, 2, 3, 5, 3), x(2, 2, 3, 4, 3)
            value = call("CONV_3D_TRANSPOSE", *operands, bias, **options)
            yield Case("CONV_3D_TRANSPOSE", f"{padding} {bias is None}", value)
    plain = {f"dilation_{letter}_factor": 1 for letter in "dhw"}
    for strides, window, output in (
        ((3, 2, 1), (4, 3, 3), (7, 5, 4)),  # the last phase has fewer depths
        ((1, 2, 2), (3, 2, 2), (3, 5, 8)),
        ((3, 1, 1), (2, 3, 3), (9, 3, 4)),  # a phase that takes no step
    ):
        along = dict(zip(("stride_d", "stride_h", "stride_w"), strides, strict=True))
        biased = ints(2, *output, 5), w(*window, 5, 7), x(2, 3, 3, 4, 7), w(5)
        value = call("CONV_3D_TRANSPOSE", *biased, padding="SAME", **plain, **along)
        yield Case("CONV_3D_TRANSPOSE", f"strides {strides}", value)
    computed = ints(1, 4, 6, 8, 3), x(3, 2, 3, 3, 5), x(1, 2, 3, 4, 5)
    twice = {"stride_d": 2, "stride_h": 2, "stride_w": 2, "padding": "SAME"}
    value = call("CONV_3D_TRANSPOSE", *computed, None, **plain, **twice)
    yield Case("CONV_3D_TRANSPOSE", "computed weights", value)


TABLES = (transpose_convolutions, volumes)
