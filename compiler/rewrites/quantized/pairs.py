"""Functions of two 8-bit integers: a table of 65536 entries, made while compiling."""

from collections.abc import Callable

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.elementwise.fixed_point import (
    FixedPoint,
    divide,
    fixed_point,
    half_away,
    high_product,
    shift_on_x86,
)
from .lowering import INTEGERS, Lowering, lowers

# Of centered integers; gives centered integers, or truth values as 0 and 1.
Function = Callable[[Lowering, Array, Array], Array]

EIGHT_BITS = ("int8", "uint8")


def _scaled(here: Lowering, values: Array, factor: float) -> Array:
    """Integers times a factor that is meant to be smaller than one.

    LiteRT shifts by a negative number of bits where it is not. What comes of that depends on
    whether its compiler made a loop of vectors, so UnsupportedError unless both ways agree.
    """
    multiplier, exponent = fixed_point(factor)
    product = high_product(values, multiplier)
    shifted = shift_on_x86(product, -exponent)
    if exponent > 0 and not np.array_equal(shifted, np.where(product < 0, -1, 1)):
        raise here.undefined_shift(-exponent)
    return shifted


def _squared_difference(here: Lowering, a: Array, b: Array) -> Array:
    """Operands of 7 more bits, scaled to twice the larger scale."""
    scales = [np.float32(here.scale(here.op.operand(i))) for i in (0, 1)]
    twice = 2.0 * float(max(scales))
    one, other = (
        _scaled(here, values << 7, float(scale) / twice)
        for values, scale in ((a, scales[0]), (b, scales[1]))
    )
    back = twice * twice / (2.0**14 * float(here.scale(here.op.output)))
    return _scaled(here, (one - other) ** 2, back)


def _factor_of_quotients(here: Lowering) -> FixedPoint:
    """The ratio of scales of a division; UnsupportedError if it is by a constant 0."""
    divisor = here.op.operand(1)
    if divisor.data is not None and (divisor.data == here.zero(divisor)).any():
        raise here.declined("it divides by a constant 0, at which LiteRT stops with an error")
    first, second = (np.float32(here.scale(here.op.operand(i))) for i in (0, 1))
    return fixed_point(float(first / np.float32(second * here.scale(here.op.output))))


def _operand(here: Lowering, position: int, integers: Array) -> Array:
    """What is compared of an operand: integers of 8 more bits, times its scale."""
    return _scaled(here, integers << 8, float(here.scale(here.op.operand(position))))


def _compared(compare: np.ufunc) -> Function:
    def function(here: Lowering, a: Array, b: Array) -> Array:
        one, other = (_operand(here, i, values) for i, values in enumerate((a, b)))
        return np.asarray(compare(one, other), np.int64)

    return function


PAIRS: dict[str, Function] = {
    "DIV": lambda here, a, b: divide(a, b, *_factor_of_quotients(here)),
    "EQUAL": _compared(np.equal),
    "GREATER": _compared(np.greater),
    "GREATER_EQUAL": _compared(np.greater_equal),
    "LESS": _compared(np.less),
    "LESS_EQUAL": _compared(np.less_equal),
    "NOT_EQUAL": _compared(np.not_equal),
    "SQUARED_DIFFERENCE": _squared_difference,
}


@lowers(*PAIRS)
def pair(here: Lowering) -> Tensor:
    """What the function gives for each two integers."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    if result.dtype == "bool" and first.dtype == second.dtype == "int16":
        return _compare_int16(here)
    if here.op.name == "DIV" and first.dtype == second.dtype == "int16":
        # No table could hold all of them.
        return here.rounded(
            "tflgpu.requantize_quotient",
            *(here.centered(here.op.operand(i)) for i in (0, 1)),
            bounds=here.bounds(here.op.output, half_away),
            factor=_factor_of_quotients(here),
        )
    if not {first.dtype, second.dtype} <= set(EIGHT_BITS):
        raise here.declined(f"there is no formula for {first.dtype} and {second.dtype}")
    a, b = np.meshgrid(_integers(here, first), _integers(here, second), indexing="ij")
    entries = PAIRS[here.op.name](here, a, b).reshape(-1)
    if result.dtype in INTEGERS:
        entries = np.clip(entries, *here.bounds(result, half_away))
    table = constant(f"{result.name}/table", entries.astype(np.float32))
    index = here.add("tflgpu.pair", here.centered(first), here.centered(second))
    offset = -int(a.min()) * 256 - int(b.min())
    value = here.add("tflgpu.look_up", index, table, offset=offset)
    if result.dtype == "bool":
        return here.add("CAST", value, dtype="bool")
    return value


def _compare_int16(here: Lowering) -> Tensor:
    """LiteRT compares the integers, whatever they stand for, unless it asks if they are equal."""
    operands = [here.op.operand(position) for position in (0, 1)]
    values = [here.centered(operand) for operand in operands]
    if here.op.name in ("EQUAL", "NOT_EQUAL"):
        integers = [_integers(here, operand) for operand in operands]
        tables = [_operand(here, *numbered) for numbered in enumerate(integers)]
        if not np.array_equal(tables[0], tables[1]) or (np.diff(tables[0]) <= 0).any():
            for position, entries in enumerate(tables):
                table, offset = here.constant(entries), -int(integers[position][0])
                values[position] = here.add(
                    "tflgpu.look_up", values[position], table, offset=offset
                )
    return here.add(here.op.name, *values, dtype="bool")


def _integers(here: Lowering, tensor: Tensor) -> Array:
    """All centered integers that a tensor can have, in order."""
    low, high = INTEGERS[tensor.dtype]
    return np.arange(low, high + 1, dtype=np.int64) - here.zero(tensor)
