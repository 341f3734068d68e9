"""Values no ordinary draw has: NaN, quotients next to whole numbers."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, call, ints, known, largest, typed, x, xi

from .case import Case

SPECIAL = (np.nan, -3.5, -0.5, 0.0, 0.25, 1.0, 2.5, 7.0, 8.0)

ZERO = known(np.array(0.0, np.float32))

ONE = known(np.array(1.0, np.float32))


def computed(*values: float) -> Call:
    """Rows of those values that no compiler can know beforehand."""
    zeros = call("MUL", x(3, 1), ZERO)
    return call("ADD", zeros, known(np.array(values, np.float32)))


def kept_nan() -> Iterator[Case]:
    """Operators that hand NaN on."""
    for operator in (
        "ELU",
        "LEAKY_RELU",
        "RELU",
        "RELU6",
        "RELU_0_TO_1",
        "RELU_N1_TO_1",
        "SIGN",
        "TANH",
    ):
        attrs = {"alpha": 0.1} if operator == "LEAKY_RELU" else {}
        value = call(operator, computed(*SPECIAL), **attrs)
        yield Case(operator, "of special values", value)
    far = computed(np.nan, -np.inf, -104, -88, -86, 0, 86, np.inf)
    for operator in ("EXP", "LOGISTIC"):
        yield Case(operator, "of special values", call(operator, far))
    yield Case("LOG", "of special values", call("LOG", computed(np.nan, -np.inf, -1, 0)))
    near_one = 1 + np.linspace(-0.6, 0.6, 97)
    range_of_log = computed(*near_one, 1.1754944e-38, 1e-30, 1e-9, 1e9, 1e30, 3.4028235e38)
    yield Case("LOG", "across its range", call("LOG", range_of_log))
    range_of_tanh = computed(-np.inf, -1e-20, 1e-4, *np.linspace(-10, 10, 91), np.inf)
    yield Case("TANH", "across its range", call("TANH", range_of_tanh))
    turns = computed(*np.linspace(-300, 300, 37))
    beyond = computed(np.nan, -20000, -0.5, 0, 3, 16383)
    for operator in ("COS", "SIN"):
        yield Case(operator, "of many turns", call(operator, turns))
        yield Case(operator, "of special values", call(operator, beyond))
    for operator in ("MAXIMUM", "MINIMUM"):
        lines = computed(*SPECIAL)
        yield Case(operator, "with NaN first", call(operator, lines, ONE))
        yield Case(operator, "with NaN second", call(operator, ONE, lines))
    upward = computed(np.nan, 1, np.nan, -2, 0, np.inf, -np.inf, 1)
    onward = computed(1, np.nan, np.nan, -3, 2, 1, 1, np.inf)
    yield Case("ATAN2", "of special values", call("ATAN2", upward, onward))
    for what, zero in (("0", computed(0, 0)), ("-0", call("NEG", computed(0, 0)))):
        yield Case("ATAN2", f"of 0 and {what}", call("ATAN2", computed(0, 0), zero))


def largest_beside_nan() -> Iterator[Case]:
    """NaN, wherever it stands, is no number's rival."""
    for size, count in ((40, 4), (40, 20), (40, 40), (800, 10), (800, 200)):
        values = [float(place * 7 % 11) for place in range(size)]
        for place in (0, 3, size // 2, size - 1):
            values[place] = np.nan
        yield Case("TOPK_V2", f"{count} of {size} with NaN", largest(computed(*values), count))


def quotients() -> Iterator[Case]:
    """Where the rounded quotient is a whole number and the exact one is not, and zeros."""
    first = computed(1, 0.3, -1, -0.3, 7, -7, 7, -7, 5.5, 0.6, 1e6)
    second = known(np.array([0.1, 0.1, 0.1, 0.1, 3, 3, -3, -3, -2, 0.2, 0.7], np.float32))
    for operator in ("FLOOR_DIV", "FLOOR_MOD"):
        yield Case(operator, "next to whole quotients", call(operator, first, second))
    infinite = known(np.array([np.inf, np.inf, -np.inf, -np.inf, np.inf], np.float32))
    value = call("FLOOR_MOD", computed(5, -5, 5, -5, 0), infinite)
    yield Case("FLOOR_MOD", "of infinite divisors", value)
    bases = computed(0, 0, 0, -2, -2, -2, -2, -8, np.nan, 1, -3)
    powers = known(np.array([-1, 0, 2, 2, 3, -1, 0.5, 1 / 3, 0, np.nan, 3], np.float32))
    yield Case("POW", "of zeros and negative values", call("POW", bases, powers))
    whole = known(np.array([0, 1, 2, 3, 4], np.int32))
    yield Case("POW", "of integers", typed("int32", "POW", xi(3, 5), whole))


def across_special_values() -> Iterator[Case]:
    """Operators that join values among which some are special."""
    for operator in ("REDUCE_MAX", "REDUCE_MIN", "SUM", "MEAN"):
        for shape, axis in (((37, 3), 1), ((3, 37), 0), ((2, 37, 3, 5), 1)):
            reduced = call(operator, x(*shape, draw="special"), ints(axis), keep_dims=False)
            yield Case(operator, f"of special values, axis {axis} of {shape}", reduced)
    for operator in ("ARG_MAX", "ARG_MIN"):
        for shape, axis in (((3, 61), 0), ((5, 61), 1), ((1, 2, 3, 64), 3)):
            place = known(np.array(axis, np.int32))
            value = x(*shape, draw="special")
            found = typed("int32", operator, value, place, output_type="int32")
            yield Case(operator, f"of special values, axis {axis} of {shape}", found)
    yield Case("L2_NORMALIZATION", "special", call("L2_NORMALIZATION", x(61, 3, draw="special")))


def special_slopes() -> Iterator[Case]:
    """A slope does nothing to values above zero, whatever it is."""
    for slope in (np.nan, np.inf, -np.inf):
        slopes = known(np.full(len(SPECIAL), slope, np.float32))
        yield Case("PRELU", f"with the slope {slope}", call("PRELU", computed(*SPECIAL), slopes))


TABLES = (kept_nan, largest_beside_nan, quotients, across_special_values, special_slopes)
