"""Functions of two 8-bit integers: a table of 65536 entries, made while compiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.fixed_point import fixed_point, half_away, high_product
from .lowering import INTEGERS, Lowering, lowers

Function = Callable[[Lowering, Array, Array], Array]
"""Of centered integers; gives centered integers, or truth values as 0 and 1."""

EIGHT_BITS = ("int8", "uint8")


def _shift_on_x86(values: Array, bits: Array | int) -> Array:
    """As LiteRT shifts right and rounds, also by negative numbers of bits or by more than 31.

    C leaves that open; x86 takes the lowest bits of the number.
    """
    bits = np.asarray(bits, np.int64)
    mask = np.where(bits & 63 < 32, (np.int64(1) << (bits & 31)) - 1, -1)
    return np.asarray((values >> (bits & 31)) + ((values & mask) > (mask >> 1) + (values < 0)))


def _scaled(values: Array, factor: float) -> Array:
    """Integers times a factor that is meant to be smaller than one."""
    multiplier, exponent = fixed_point(factor)
    return _shift_on_x86(high_product(values, multiplier), -exponent)


def _squared_difference(lowering: Lowering, a: Array, b: Array) -> Array:
    """Operands of 7 more bits, scaled to twice the larger scale."""
    scales = [np.float32(lowering.scale(lowering.op.operand(i))) for i in (0, 1)]
    twice = 2.0 * float(max(scales))
    one, other = (
        _scaled(values << 7, float(scale) / twice)
        for values, scale in ((a, scales[0]), (b, scales[1]))
    )
    back = twice * twice / (2.0**14 * float(lowering.scale(lowering.op.output)))
    return _scaled((one - other) ** 2, back)


def _reciprocal(values: Array) -> tuple[Array, Array]:
    """1 / values with 31 bits, and how many bits they have before the point (gemmlowp)."""
    zeros = 32 - np.frexp(values.astype(np.float64))[1].astype(np.int64)
    rest = (values << zeros) - (1 << 31)
    half = (rest + (1 << 31)) >> 1
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_product(half, x)
        x = x + (high_product(x, error) << 2)
    return np.minimum(x << 1, (1 << 31) - 1), 31 - zeros


def _quotient(lowering: Lowering, a: Array, b: Array) -> Array:
    """The dividend times the divisor's reciprocal, in as many bits as fit.

    LiteRT stops with an error at a divisor of 0; here it counts as the integer 1.
    """
    divisor = lowering.op.operand(1)
    if divisor.data is not None and (divisor.data == lowering.zero(divisor)).any():
        raise lowering.declined("it divides by a constant 0, at which LiteRT stops with an error")
    first, second = (np.float32(lowering.scale(lowering.op.operand(i))) for i in (0, 1))
    factor = fixed_point(float(first / np.float32(second * lowering.scale(lowering.op.output))))
    a, b = a * np.where(b < 0, -1, 1), np.maximum(np.abs(b), 1)
    inverse, bits = _reciprocal(b)
    room = 31 - np.frexp(np.where(a < 0, -a - 0.5, a).astype(np.float64))[1].astype(np.int64)
    quotient = high_product(a << room, inverse)
    product = high_product(quotient, factor.multiplier)
    return _shift_on_x86(product, bits + room - factor.exponent)


def _compared(compare: np.ufunc) -> Function:
    """Operands of 8 more bits, times their scales."""

    def function(lowering: Lowering, a: Array, b: Array) -> Array:
        one, other = (
            _scaled(values << 8, float(lowering.scale(lowering.op.operand(i))))
            for i, values in enumerate((a, b))
        )
        return np.asarray(compare(one, other), np.int64)

    return function


PAIRS: dict[str, Function] = {
    "DIV": _quotient,
    "EQUAL": _compared(np.equal),
    "GREATER": _compared(np.greater),
    "GREATER_EQUAL": _compared(np.greater_equal),
    "LESS": _compared(np.less),
    "LESS_EQUAL": _compared(np.less_equal),
    "NOT_EQUAL": _compared(np.not_equal),
    "SQUARED_DIFFERENCE": _squared_difference,
}


@lowers(*PAIRS)
def pair(lowering: Lowering) -> None:
    """What the function gives for each two integers."""
    first, second, result = lowering.op.operand(0), lowering.op.operand(1), lowering.op.output
    if result.dtype == "bool" and first.dtype == second.dtype == "int16":
        # LiteRT compares the integers, whatever they stand for.
        operands = map(lowering.centered, (first, second))
        lowering.finish(lowering.add(lowering.op.name, *operands, dtype="bool"))
        return
    if not {first.dtype, second.dtype} <= set(EIGHT_BITS):
        raise lowering.declined(f"there is no formula for {first.dtype} and {second.dtype}")
    a, b = np.meshgrid(_integers(lowering, first), _integers(lowering, second), indexing="ij")
    entries = PAIRS[lowering.op.name](lowering, a, b).reshape(-1)
    if result.dtype in INTEGERS:
        entries = np.clip(entries, *lowering.bounds(result, half_away))
    table = constant(f"{result.name}/table", entries.astype(np.float32))
    index = lowering.add("tflgpu.pair", lowering.centered(first), lowering.centered(second))
    offset = -int(a.min()) * 256 - int(b.min())
    value = lowering.add("tflgpu.look_up", index, table, offset=offset)
    if result.dtype == "bool":
        lowering.finish(lowering.add("CAST", value, dtype="bool"))
    else:
        lowering.finish_centered(value)


def _integers(lowering: Lowering, tensor: Tensor) -> Array:
    """All centered integers that a tensor can have, in order."""
    low, high = INTEGERS[tensor.dtype]
    return np.arange(low, high + 1, dtype=np.int64) - lowering.zero(tensor)
