"""Operators over axes: pools, reductions, joins, resizes, and those that only move integers."""

from collections.abc import Sequence

import numpy as np
from graphs import Call, Value, ints, known, table, typed
from graphs import number as scalar
from hypothesis.strategies import DrawFn

from ..draws import ACTIVATIONS, SLICED, Generator, axis, flag, image, number, one_in, pick, shape
from ..windows import PADDINGS
from .draws import ALL, EIGHT_BITS, Kind, either, kind, result, source


def pool(draw: DrawFn) -> Call:
    """The result is quantized like the operand."""
    how = kind(draw, pick(draw, ALL))
    sizes = image(draw)
    filters = number(draw, 1, min(5, sizes[1])), number(draw, 1, min(5, sizes[2]))
    attrs = {
        "filter_height": filters[0],
        "filter_width": filters[1],
        "stride_h": number(draw, 1, 3),
        "stride_w": number(draw, 1, 3),
        "padding": pick(draw, PADDINGS),
        "fused_activation_function": pick(draw, ACTIVATIONS),
    }
    name = pick(draw, ("AVERAGE_POOL_2D", "MAX_POOL_2D"))
    return result(name, source(sizes, how), how=how, **attrs)


def reduction(draw: DrawFn) -> Call:
    name = pick(draw, ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"))
    how = kind(draw, pick(draw, ALL))
    sizes = shape(draw, (2, 3, 4))
    axes = sorted({axis(draw, len(sizes)) % len(sizes) for _ in range(number(draw, 1, 2))})
    if len(sizes) == 4 and flag(draw):
        axes = [1, 2]
    count = int(np.prod([sizes[i] for i in axes]))
    given = how
    if name in ("MEAN", "SUM"):
        middle = how.scale * (np.sqrt(count) if name == "SUM" else 1.0)
        given = kind(draw, how.dtype, float(middle), 2.0)
    return result(name, source(sizes, how), ints(*axes), how=given, keep_dims=flag(draw))


def place(draw: DrawFn) -> Call:
    sizes = shape(draw, SLICED)
    operand = source(sizes, kind(draw, pick(draw, EIGHT_BITS)))
    where = scalar(axis(draw, len(sizes)), "int32")
    return typed("int32", pick(draw, ("ARG_MAX", "ARG_MIN")), operand, where, output_type="int32")


# The results that LiteRT takes of SOFTMAX, by its operand's type.
PROBABILITIES = {
    "int8": (Kind("int8", 1 / 256, -128), Kind("int16", 1 / 65536, -32768)),
    "uint8": (Kind("uint8", 1 / 256, 0),),
    "int16": (Kind("int16", 2.0**-15, 0),),
}


def softmax(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    how = kind(draw, dtype, 0.0003 if dtype == "int16" else 0.1)
    given = pick(draw, PROBABILITIES[dtype])
    beta = pick(draw, (1.0, 1.0, 0.5, 2.0))
    return result("SOFTMAX", source(shape(draw, (1, 2, 3, 4)), how), how=given, beta=beta)


def concatenation(draw: DrawFn) -> Call:
    dtype = pick(draw, EIGHT_BITS)
    given = kind(draw, dtype)
    sizes = shape(draw, (2, 3, 4), 1000)
    along = axis(draw, len(sizes))
    operands: list[Value] = []
    for _ in range(number(draw, 2, 4)):
        own = list(sizes)
        own[along] = number(draw, 1, 7)
        how = given if flag(draw) else kind(draw, dtype, given.scale, 2.0)
        operands.append(either(draw, tuple(own), how) if operands else source(tuple(own), how))
    return result("CONCATENATION", *operands, how=given, axis=along)


def norm(draw: DrawFn) -> Call:
    """LiteRT takes one scale and zero point of the result for each type."""
    name, dtype = pick(draw, ("L2_NORMALIZATION", "LOG_SOFTMAX")), pick(draw, EIGHT_BITS)
    how = kind(draw, dtype, 0.1)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    given = Kind(dtype, 1 / 128, (low + high + 1) // 2)
    if name == "LOG_SOFTMAX":
        given = Kind(dtype, 16 / 256, high)
    return result(name, source(shape(draw, (1, 2, 3, 4)), how), how=given)


def resize(draw: DrawFn) -> Call:
    how = kind(draw, pick(draw, ALL))
    name = pick(draw, ("RESIZE_BILINEAR", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    corners = flag(draw)
    attrs = {"align_corners": corners, "half_pixel_centers": not corners and flag(draw)}
    size = ints(number(draw, 1, 13), number(draw, 1, 13))
    return result(name, source(image(draw), how), size, how=how, **attrs)


def pad(draw: DrawFn) -> Call:
    how = kind(draw, pick(draw, ALL))
    sizes = shape(draw, (1, 2, 3, 4), 500)
    name = pick(draw, ("PAD", "PADV2", "MIRROR_PAD"))
    most = [2 if name != "MIRROR_PAD" else min(2, n - 1) for n in sizes]
    amounts = table(*((number(draw, 0, n), number(draw, 0, n)) for n in most))
    operands: list[Value] = [source(sizes, how), amounts]
    if name == "PADV2":
        limits = np.iinfo(how.dtype)
        value = np.array(number(draw, int(limits.min), int(limits.max)), how.dtype)
        operands.append(known(value, how.quantization))
    attrs = {"mode": "REFLECT"} if name == "MIRROR_PAD" else {}
    return result(name, *operands, how=how, **attrs)


def move(draw: DrawFn) -> Call:
    """One result with the operand's quantization."""
    how = kind(draw, pick(draw, ALL))
    sizes = shape(draw, (2, 3, 4), 1000)
    operand = source(sizes, how)
    name = pick(draw, ("GATHER", "RESHAPE", "SLICE", "TILE", "TRANSPOSE"))
    if name == "GATHER":
        along = number(draw, 0, len(sizes) - 1)
        places = [number(draw, 0, sizes[along] - 1) for _ in range(number(draw, 1, 4))]
        return result(name, operand, ints(*places), how=how, axis=along)
    if name == "RESHAPE":
        return result(name, operand, ints(-1, sizes[-1]), how=how)
    rows: Sequence[int] = [number(draw, 0, n - 1) for n in sizes]
    if name == "SLICE":
        rest = [number(draw, 1, n - first) for n, first in zip(sizes, rows, strict=True)]
        return result(name, operand, ints(*rows), ints(*rest), how=how)
    if name == "TILE":
        return result(name, operand, ints(*(number(draw, 1, 2) for _ in sizes)), how=how)
    order = list(range(len(sizes)))
    np.random.default_rng(number(draw, 0, 999)).shuffle(order)
    return result(name, operand, ints(*order), how=how)


def space(draw: DrawFn) -> Call:
    how = kind(draw, pick(draw, EIGHT_BITS))
    batch, rows, columns, channels = image(draw)
    block = number(draw, 2, 3)
    if one_in(draw, 2):
        operand = source((batch, rows, columns, channels * block * block), how)
        return result("DEPTH_TO_SPACE", operand, how=how, block_size=block)
    operand = source((batch, rows * block, columns * block, channels), how)
    return result("SPACE_TO_DEPTH", operand, how=how, block_size=block)


GENERATORS: dict[str, Generator] = {
    "quantized ARG_MAX": place,
    "quantized CONCATENATION": concatenation,
    "quantized DEPTH_TO_SPACE": space,
    "quantized PAD": pad,
    "quantized SOFTMAX": softmax,
    "quantized move": move,
    "quantized norm": norm,
    "quantized pool": pool,
    "quantized reduction": reduction,
    "quantized resize": resize,
}
