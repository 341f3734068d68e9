"""Arithmetic on integers that languages lack, or that needs more than 32 bits."""

from typing import Any

from ..language.expression import Expression, Number, Word
from ..language.primary import Call, Member, hexadecimal
from ..language.types import UINT
from .intrinsic import intrinsic

ONE = Number(1)
LARGEST = hexadecimal(0x7FFFFFFF)
NO_SUM = Call("uvec2", Word(0), type="uvec2")  # Of 64 bits.


def _int_quotient(f: Any, a: Expression, b: Expression) -> Any:
    return f.select(f.equals(b, 0), 0, f.select(f.equals(b, -1), -a, a // b))


def _whole_power(f: Any, a: Expression, b: Expression) -> Any:
    result = f.let("result", 1)
    with f.as_long_as(b > 0):
        f.assign(result, f.select(f.differs(b & 1, 0), result * a, result))
        f.assign(a, a, "*=")
        f.assign(b, 1, ">>=")
    return result


def _upper_bits_of(f: Any, a: Expression, b: Expression) -> Any:
    lower = Word(0xFFFF)
    low = f.let("low", (a & lower) * (b & lower))
    across = f.let("across", (a >> 16) * (b & lower) + (low >> 16))
    over = f.let("over", (a & lower) * (b >> 16) + (across & lower))
    return (a >> 16) * (b >> 16) + (across >> 16) + (over >> 16)


def _shifted_to_nearest(f: Any, value: Expression, exponent: Expression) -> Any:
    """Halves away from zero."""
    bits = f.let("bits", f.max(-exponent, 0))
    mask = f.let("mask", (1 << bits) - 1)
    above = (value & mask) > (mask >> 1) + f.to_int(value < 0)
    return (value >> bits) + f.to_int(above)


def _multiply_rounded_twice(
    f: Any, a: Expression, multiplier: Expression, exponent: Expression
) -> Any:
    left = f.let("left", a << f.max(exponent, 0))
    size, other = (f.to_uint(f.abs(each)) for each in (left, multiplier))
    lower = f.let("lower", size * other)
    upper = f.let("upper", f.upper_bits_of(size, other))
    negative = f.let("negative", ((left ^ multiplier) < 0) & f.differs(left, 0))
    moved = f.let("moved", lower + f.select(negative, Word(0x3FFFFFFF), Word(0x40000000)))
    f.assign(upper, f.to_uint(moved < lower), "+=")
    result = f.let("result", f.to_int(upper << 1 | moved >> 31))
    f.assign(result, f.select(negative, -result, result))
    return _shifted_to_nearest(f, result, exponent)


def _multiply_each_upwards(
    f: Any, a: Expression, multiplier: Expression, exponent: Expression, ties_away: Expression
) -> Any:
    product = f.let("product", f.multiply_rounded_twice(a, multiplier, f.max(exponent, 0)))
    bits = f.let("bits", f.max(-exponent, 0))
    moved = product + (1 << bits - 1) + (product >> 31) * ties_away
    return f.select(f.equals(bits, 0), product, moved >> bits)


def _inverse_root_exponent(f: Any, a: Expression) -> Any:
    pairs = f.let("pairs", (f.leading_zeros(f.max(a, 2)) - 1) // 2)
    return f.select(a <= 1, 0, f.min(pairs - 12, 0))


def _inverse_root(f: Any, a: Expression) -> Any:
    f.give_where(a <= 1, LARGEST)
    pairs = f.let("pairs", (f.leading_zeros(a) - 1) // 2)
    start = f.let("start", f.select(pairs > 0, a << (pairs - 1) * 2, a >> 2))
    half_a = f.let("half_a", (start >> 2) + (start >> 1 & 1))
    root = f.let("root", ONE << 28)
    product = f.multiply_rounded_twice
    with f.times(5):
        cube = f.let("cube", product(product(root, root, 0), root, 0))
        f.assign(cube, f.select(cube >= ONE << 25, LARGEST, cube << 6))
        f.assign(root, product(Number(3) << 27, root, 0) - product(half_a, cube, 0) << 3)
    return product(root, 1518500250, 0) << f.max(pairs - 12, 0)


def _added(f: Any, sum: Expression, a: Expression, b: Expression) -> Expression:
    """A sum of 64 bits, and a product."""
    upper = f.to_int(f.upper_bits_of(f.to_uint(a), f.to_uint(b)))
    less = f.select(a < 0, b, 0), f.select(b < 0, a, 0)
    product_upper = f.let("product_upper", upper - less[0] - less[1])
    lower = f.let("lower", _lower(sum) + f.to_uint(a) * f.to_uint(b))
    carry = f.to_uint(lower < _lower(sum))
    return _wide(lower, _upper(sum) + f.to_uint(product_upper) + carry)


def _wide(lower: Expression, upper: Expression) -> Expression:
    return Call("uvec2", lower, upper, type="uvec2")


def _lower(wide: Expression) -> Expression:
    return Member(wide, "x", UINT)


def _upper(wide: Expression) -> Expression:
    return Member(wide, "y", UINT)


def _shifted_left(wide: Expression, bits: int) -> Expression:
    return _wide(_lower(wide) << bits, _upper(wide) << bits | _lower(wide) >> 32 - bits)


def _scale_wide(
    f: Any, a: Expression, b: Expression, c: Expression, multiplier: Expression, shift: Expression
) -> Any:
    sum = f.let("sum", f.add_wide(NO_SUM, a, multiplier))
    for each in (b, c):
        f.assign(sum, f.add_wide(_shifted_left(sum, 8), each, multiplier))
    lower, upper = _lower(sum), _upper(sum)
    last = f.to_int(upper >> shift - 33 & 1)
    f.give_where(shift > 32, (f.to_int(upper) >> shift - 32) + last)
    inside = f.select(f.equals(shift, 32), upper, upper << 32 - shift | lower >> shift)
    below = f.let("below", f.to_int(inside))
    return below + f.to_int(lower >> shift - 1 & 1)


def _scale_in_blocks(
    f: Any, a: Expression, beyond: Expression, multiplier: Expression, exponent: Expression
) -> Any:
    twice = f.multiply_rounded_twice(a, multiplier, exponent)
    return f.select(beyond > 0, twice, f.scale_wide(0, 0, a, multiplier, 31 - exponent))


def _divide_in_fixed_point(
    f: Any, a: Expression, b: Expression, multiplier: Expression, exponent: Expression
) -> Any:
    product = f.multiply_rounded_twice
    divisor = f.let("divisor", f.max(f.select(b < 0, -b, b), 1))
    dividend = f.let("dividend", f.select(b < 0, -a, a))
    zeros = f.let("zeros", f.leading_zeros(divisor))
    half_b = f.let("half_b", ((divisor << zeros & LARGEST) >> 1) + (ONE << 30))
    inverse = f.let("inverse", product(half_b, -1010580540, 0) + 1515870810)
    with f.times(3):
        error = f.let("error", (ONE << 29) - product(half_b, inverse, 0))
        f.assign(inverse, product(inverse, error, 0) << 2, "+=")
    size = f.select(dividend < 0, ~dividend, dividend)
    room = f.let("room", f.leading_zeros(size) - 1)
    doubled = f.select(inverse >= ONE << 30, LARGEST, inverse << 1)
    quotient = f.let("quotient", product(dividend << room, doubled, 0))
    scaled = f.let("product", product(quotient, multiplier, 0))
    bits = f.let("bits", 31 - zeros + room - exponent)
    mask = f.let("mask", f.select((bits & 63) < 32, ~(-ONE << (bits & 31)), -1))
    above = (scaled & mask) > (mask >> 1) + f.to_int(scaled < 0)
    return (scaled >> (bits & 31)) + f.to_int(above)


def _scaled_variance(
    f: Any, high: Expression, low: Expression, factor: Expression, mean: Expression
) -> Any:
    sum = f.let("sum", f.add_wide(NO_SUM, high, factor))
    f.assign(sum, _shifted_left(sum, 15))
    f.assign(sum, f.add_wide(sum, low, factor))
    f.assign(sum, f.add_wide(sum, mean, -mean))
    return f.to_int(_upper(sum) << 12 | _lower(sum) >> 20)


# fmt: off
INTEGERS = (
    intrinsic("int_quotient a:int b:int -> int",
        "the quotient of integers, rounded towards zero; 0 for b = 0, which would trap",
        _int_quotient),
    intrinsic("int_remainder a:int b:int -> int", "the remainder of such a division; a for b = 0",
        lambda f, a, b: a - b * f.int_quotient(a, b)),
    intrinsic("whole_power a:int b:int -> int",
        "a to the power b of integers, which wrap; 1 for b < 0", _whole_power),
    intrinsic("upper_bits_of a:uint b:uint -> uint",
        "the upper 32 of the 64 bits of a product; Mesa computes umulExtended of constants wrongly",
        glsl=_upper_bits_of),
    intrinsic("multiply_rounded_twice a:N multiplier:int exponent:int -> N",
        "an integer times multiplier * 2^(exponent - 31), rounded after the product and after the "
        "shift",
        opencl="""
int multiply_rounded_twice(int a, int multiplier, int exponent) {
  long product = (long)(a << max(exponent, 0)) * multiplier;
  int upper = (product + (product >= 0 ? 1L << 30 : 1L - (1L << 30))) / (1L << 31);
  int bits = max(-exponent, 0);
  int mask = (1 << bits) - 1;
  return (upper >> bits) + ((upper & mask) > (mask >> 1) + (upper < 0) ? 1 : 0);
}""", glsl=_multiply_rounded_twice),
    intrinsic("multiply_each_rounded_twice a:N multiplier:N exponent:N -> N",
        "the same, with a factor for each lane",
        lambda f, *operands: f.multiply_rounded_twice(*operands)),
    intrinsic("multiply_each_upwards a:N multiplier:N exponent:N ties_away:N -> N",
        "the same, ties of the shift upwards, or away from zero where `ties_away` is 1",
        _multiply_each_upwards),
    intrinsic("leading_zeros v:int -> int",
        "the number of leading zero bits of a nonnegative integer", opencl="clz(v)",
        glsl=lambda f, v: 31 - f.findMSB(v)),
    intrinsic("inverse_root_exponent a:N -> N",
        "the exponent in 1 / sqrt(a) = inverse_root(a) * 2^(exponent - 31); at most 0",
        _inverse_root_exponent),
    intrinsic("inverse_root a:N -> N",
        "1 / sqrt(a) as an integer of 31 bits, by five steps of Newton's method; of 1 where a < 1",
        _inverse_root),
    intrinsic("add_wide sum:uvec2 a:int b:int -> uvec2",
        "add a product to a sum of 64 bits, whose lower half comes first", glsl=_added),
    intrinsic("scale_wide a:N b:N c:N multiplier:N shift:N -> N",
        "65536 * a + 256 * b + c, times a multiplier, shifted right and rounded, halves upwards",
        opencl="""
int scale_wide(int a, int b, int c, int multiplier, int shift) {
  long sum = ((long)a * 256 + b) * 256 + c;
  return (int)((sum * multiplier + (1L << (shift - 1))) >> shift);
}""", glsl=_scale_wide),
    intrinsic("scale_in_blocks a:N beyond:N multiplier:int exponent:int -> N",
        "an integer times multiplier * 2^(exponent - 31), rounded once, halves upwards; twice "
        "where `beyond` is 1",
        _scale_in_blocks,
        function=True),
    intrinsic("divide_in_fixed_point a:N b:N multiplier:int exponent:int -> N",
        "a / b times multiplier * 2^(exponent - 31), as LiteRT's kernels on x86 round it; of "
        "b = 0, a",
        _divide_in_fixed_point),
    intrinsic("scaled_variance high:int low:int factor:int mean:int -> int",
        "(32768 * high + low) * factor - mean * mean, shifted right by 20 bits", opencl="""
int scaled_variance(int high, int low, int factor, int mean) {
  long squares = (long)high * 32768 + low;
  return (int)((squares * factor - (long)mean * mean) >> 20);
}""", glsl=_scaled_variance),
    intrinsic("shift_away v bits:int -> v",
        "an integer shifted right and rounded, halves away from zero",
        lambda f, v, bits: v + (1 << bits - 1) + (v >> 31) >> bits),
    intrinsic("divide_roundedS a:ints b:int -> ints",
        "slices of integers divided by a positive one, to the nearest, halves away from zero",
        opencl="""
{{ intS }} divide_roundedS({{ intS }} a, int b) {
  {{ intS }} half_b = (a > 0) ? ({{ intS }})(b / 2) : ({{ intS }})(-(b / 2));
  return (a + half_b) / b;
}""", glsl=lambda f, a, b: (a + f.sign(a) * (b // 2)) // b),
)
# fmt: on
