"""Functions of one 8-bit integer: a table of 256 entries, made while compiling."""

from collections.abc import Callable
from math import erfc

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.elementwise.fixed_point import half_away, wrapped
from .int16_functions import INT16_FUNCTIONS, all_results
from .lowering import INTEGERS, Lowering, lowers

Function = Callable[[Array, Lowering], Array]  # Of real numbers in float32, for an operator.


def _logistic(x: Array) -> Array:
    # Beyond 100 it is 0 or 1, and the power may be infinite.
    powers = np.exp(np.clip(x.astype(np.float64), -100, 100))
    return np.asarray(powers / (1 + powers))


def _gelu(x: Array, here: Lowering) -> Array:
    x = x.astype(np.float32)
    if here.op.attrs.get("approximate"):
        inner = np.float32(0.79788456) * (x + np.float32(0.044715) * x * x * x)
        return np.asarray(
            np.float32(0.5) * x * (1 + np.tanh(inner, dtype=np.float64).astype(np.float32))
        )
    places = x * np.float32(-0.70710678)
    return np.asarray(np.float32(0.5) * x * np.vectorize(erfc)(places).astype(np.float32))


# Functions that XNNPACK has tables of: scaled, moved by the zero point, rounded to even.
NEAREST_EVEN: dict[str, Function] = {
    "ELU": lambda x, here: np.where(x < 0, np.expm1(x), x),
    "LOGISTIC": lambda x, here: _logistic(x),
    "TANH": lambda x, here: np.tanh(x),
}

# Functions that LiteRT's own kernels have tables of: scaled, halves away from zero.
HALF_AWAY: dict[str, Function] = {
    "EXP": lambda x, here: np.exp(x),
    "GELU": _gelu,
    "LOG": lambda x, here: np.log(x),
}

# Functions of int16 that LiteRT draws as lines, and their result for 0 and negative numbers.
BY_LINES: dict[str, tuple[Function, int | None]] = {
    "EXP": (HALF_AWAY["EXP"], None),
    "GELU": (_gelu, None),
    "LOG": (HALF_AWAY["LOG"], INTEGERS["int16"][0]),
    "RSQRT": (lambda x, here: 1 / np.sqrt(x.astype(np.float32)), INTEGERS["int16"][1]),
}


@lowers(*NEAREST_EVEN, *HALF_AWAY)
def table(here: Lowering) -> Tensor:
    """What the function gives for each of the integers."""
    if here.op.operand(0).dtype == "int16":
        return look_up(here, int16_entries(here))
    if here.op.name in NEAREST_EVEN:
        return nearest_even(here, NEAREST_EVEN[here.op.name])
    zero, (low, high) = here.zero(here.op.output), INTEGERS[here.op.output.dtype]
    with np.errstate(all="ignore"):
        rounded = half_away(_steps(here, HALF_AWAY[here.op.name])) + zero
        entries = np.clip(np.nan_to_num(rounded, nan=low), low, high) - zero
    return look_up(here, entries)


def nearest_even(here: Lowering, function: Function) -> Tensor:
    """What a function that XNNPACK has tables of gives for each integer of 8 bits."""
    zero, (low, high) = here.zero(here.op.output), here.bounds(here.op.output)
    with np.errstate(all="ignore"):
        entries = np.rint(_steps(here, function) + np.float32(zero)) - zero
        return look_up(here, np.clip(np.nan_to_num(entries, nan=low), low, high))


def _steps(here: Lowering, function: Function) -> Array:
    """What a function gives for each integer, in float32 and in the scale of the result."""
    x = integers(here) * here.scale(here.op.operand(0))
    inverse = np.float32(1) / here.scale(here.op.output)
    return np.asarray(function(x, here).astype(np.float32) * inverse)


def integers(here: Lowering) -> Array:
    """All centered integers that the operand can have, in order."""
    low, high = INTEGERS[here.op.operand(0).dtype]
    zero = here.zero(here.op.operand(0))
    return np.arange(low - zero, high - zero + 1, dtype=np.float32)


def int16_entries(here: Lowering) -> Array:
    """What a function of int16 gives for each integer, of shape [65536]; zero points are 0."""
    if here.op.name in BY_LINES:
        return _by_lines(here)
    if here.op.name not in INT16_FUNCTIONS:
        raise here.declined("LiteRT does not compute it for int16")
    function = INT16_FUNCTIONS[here.op.name]
    steps = float(here.scale(here.op.operand(0))) * 2.0**12
    # LiteRT takes factors that 32 bits cannot hold, and those cut off to 0, for these scales.
    if 3 * steps >= 2**31:
        steps = 1.0
    elif 3 * steps * 2**31 < 1:
        steps = function.exact_steps[-1]
    if steps in function.exact_steps:
        return function.exact(integers(here).astype(np.int64) * int(steps))
    factor, shift = 3 * steps, 0
    while factor <= 32767 / 2 and shift <= 30:
        factor, shift = 2 * factor, shift + 1
    scaled = wrapped(integers(here).astype(np.int64) * int(factor))
    return function.lines((scaled + ((1 << shift) >> 1)) >> shift)


def _by_lines(here: Lowering) -> Array:
    source, result = here.op.operand(0), here.op.output
    if result.dtype != "int16" or here.zero(source) or here.zero(result):
        raise here.declined("its operand is int16, but a zero point is not 0 or its result not")
    least, most = (np.float32(n) for n in INTEGERS["int16"])
    scale, step = here.scale(source), here.scale(result)
    exact, bound = BY_LINES[here.op.name]

    def function(values: Array) -> Array:
        x = values.astype(np.float64)
        y = exact(x, here)
        return y if bound is None else np.where(x <= 0, np.float64(step * np.float32(bound)), y)

    inverse = np.float32(65536) / np.float32(most * step - least * step)
    with np.errstate(all="ignore"):
        return all_results(
            function, float(least * scale), float(most * scale), float(inverse), np.float32
        )


def look_up(here: Lowering, entries: Array) -> Tensor:
    """Finish with a table of centered results, one for each of the operand's integers."""
    source = here.op.operand(0)
    content = constant(f"{here.op.output.name}/table", np.asarray(entries, np.float32))
    offset = here.zero(source) - INTEGERS[source.dtype][0]
    return here.add("tflgpu.look_up", here.centered(source), content, offset=offset)


@lowers("NEG")
def negate(here: Lowering) -> Tensor:
    """Of the stored integers, disregarding scales; the least one has no negative and stays."""
    source, result = here.op.operand(0), here.op.output
    if source.dtype == "uint8":
        raise here.declined("LiteRT does not negate uint8")
    stored = integers(here) + here.zero(source)
    low, _ = INTEGERS[result.dtype]
    return look_up(here, np.where(stored == low, low, -stored) - here.zero(result))


@lowers("SQRT")
def square_root(here: Lowering) -> Tensor:
    """Divided by the result's scale, and cut off towards zero."""
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(integers(here) * here.scale(here.op.operand(0)))
    quotients = np.nan_to_num(roots / here.scale(here.op.output))
    return look_up(here, np.clip(np.trunc(quotients), *here.bounds(here.op.output)))
