"""Operators that constant folding computes, each with an operator that reads the result."""

import numpy as np
from graphs import Call, Value, call, ints, known, typed
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Quantization

from .draws import Generator, constant, flag, given, number, part, pick, scalar, shape


def zeros_like(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32", "int64"))
    value = given(draw, shape(draw), dtype)
    return typed(dtype, "MAXIMUM", value, typed(dtype, "ZEROS_LIKE", value))


def rank(draw: DrawFn) -> Value:
    number_of_axes = typed("int32", "RANK", given(draw, shape(draw)))
    return typed("int32", "ADD", given(draw, shape(draw), "int32"), number_of_axes)


def shape_as_value(draw: DrawFn) -> Value:
    dtype, sizes = pick(draw, ("int32", "int64")), shape(draw)
    found = typed(dtype, "SHAPE", given(draw, sizes), out_type=dtype)
    return typed(dtype, "ADD", given(draw, (len(sizes),), dtype), found)


def ranges(draw: DrawFn) -> Value:
    dtype = pick(draw, ("int32", "float32"))
    start, step = number(draw, -9, 9), pick(draw, (1, 2, -3, 5))
    count = number(draw, 1, 17)
    ends = start, start + step * count - np.sign(step) * number(draw, 0, abs(step) - 1), step
    steps = typed(dtype, "RANGE", *(scalar(float(end), dtype) for end in ends))
    return typed(dtype, "ADD", given(draw, (number(draw, 1, 5), count), dtype), steps)


def fill(draw: DrawFn) -> Value:
    dtype, sizes = pick(draw, ("float32", "int32", "int64")), shape(draw, (1, 2, 3, 4))
    value = given(draw, (), dtype) if flag(draw) else constant(draw, (), dtype, "small")
    filled = typed(dtype, "FILL", ints(*sizes), value)
    return typed(dtype, "ADD", given(draw, part(draw, sizes), dtype), filled)


def where(draw: DrawFn) -> Value:
    """WHERE of a constant mask, and a gather at the positions it finds."""
    sizes = shape(draw, (1, 2, 3), 60)
    mask = constant(draw, sizes, "bool")
    assert mask.values is not None
    mask.values.flat[number(draw, 0, mask.values.size - 1)] = True
    return call("GATHER_ND", given(draw, sizes), typed("int64", "WHERE", mask))


def broadcast_args(draw: DrawFn) -> Value:
    whole = shape(draw, (1, 2, 3, 4))
    sizes = part(draw, whole) or (1,)
    joint = typed("int32", "BROADCAST_ARGS", ints(*sizes), ints(*whole))
    return Call("BROADCAST_TO", (given(draw, sizes), joint), shapes=(whole,))


def dequantize(draw: DrawFn) -> Value:
    """A sum or product of a value and a quantized or float16 constant."""
    sizes, dtype = shape(draw, (1, 2, 3, 4)), pick(draw, ("int8", "uint8", "int16", "float16"))
    random = np.random.default_rng(number(draw, 0, 999))
    if dtype == "float16":
        stored = known(random.standard_normal(sizes).astype(np.float16))
    else:
        info = np.iinfo(dtype)
        zero = pick(draw, (0, 3)) if dtype != "int16" else 0
        whole = random.integers(info.min, info.max, sizes).astype(dtype)
        stored = known(whole, Quantization((pick(draw, (0.037, 0.5)),), (zero,)))
    scaled = Call("DEQUANTIZE", (stored,))
    return call(pick(draw, ("ADD", "MUL")), given(draw, part(draw, sizes)), scaled)


GENERATORS: dict[str, Generator] = {
    "BROADCAST_ARGS": broadcast_args,
    "DEQUANTIZE": dequantize,
    "FILL": fill,
    "RANGE": ranges,
    "RANK": rank,
    "SHAPE": shape_as_value,
    "WHERE": where,
    "ZEROS_LIKE": zeros_like,
}
