"""Arithmetic on floats: what languages lack, name differently, or may compute otherwise."""

from typing import Any

from ..language.expression import Expression, Word
from ..language.primary import Call, hexadecimal
from ..language.types import FLOAT, UINT
from .intrinsic import intrinsic


def _size(v: Expression) -> Expression:
    """The bits of a float without its sign."""
    return Call("floatBitsToUint", v, type=UINT) & Word(0x7FFFFFFF)


def _float_of(bits: Expression) -> Expression:
    return Call("uintBitsToFloat", bits, type=FLOAT)


def _hidden(word: int) -> Any:
    """A float by its bits in a variable, as WGSL's compilers refuse constants that are infinite."""
    return lambda f: _float_of(f.let("bits", Word(word)))


def _round_away(f: Any, v: Expression) -> Any:
    whole = f.let("whole", f.trunc(v))
    return whole + f.sign(v) * f.step(0.5, f.abs(v - whole))


def _tail_exponent(f: Any, t: Expression) -> Any:
    f.assign(t, f.min(t, 6.0))
    t2 = f.let("t2", t * t)
    high = f.let(
        "high",
        (-2.8350573e-6 * t + 3.9379145e-5) * t2 + (-0.00018618597 * t - 0.0001369251),
    )
    low = f.let("low", (0.0070634084 * t - 0.052496173) * t2 + (-0.4592082 * t - 1.1511052))
    return (high * (t2 * t2) + low) * t - 1.0


def _power(f: Any, a: Expression, b: Expression) -> Any:
    f.give_where(f.equals(b, 0.0) | f.equals(a, 1.0), 1.0)
    f.give_where(f.isnan(a) | (a < 0.0) & f.differs(b, f.floor(b)), f.NAN)
    f.give_where(f.equals(a, 0.0), f.select(b < 0.0, f.INFINITY, 0.0))
    odd = f.equals(f.mod(b, 2.0), 1.0)
    return f.select((a < 0.0) & odd, -f.pow(-a, b), f.pow(f.abs(a), b))


def _upper_bits(f: Any, v: Expression) -> Any:
    """A float with the upper 12 bits of its fraction."""
    return f.bits_to_float(f.bits_to_int(v) & -4096)


def _division_residual(f: Any, a: Expression, b: Expression, q: Expression) -> Any:
    p, r = f.let("p", _upper_bits(f, q)), f.let("r", _upper_bits(f, b))
    return a - p * r - p * (b - r) - (q - p) * b


def _floor_div(f: Any, a: Expression, b: Expression) -> Any:
    q = f.let("q", f.floor(a / b))
    rest = f.let("rest", f.division_residual(a, b, q))
    further = f.select(f.greater_equal(f.fabs(rest), f.fabs(b)), q + 1.0, q)
    return f.select(f.less(rest * b, 0.0), q - 1.0, further)


def _floor_mod(f: Any, a: Expression, b: Expression) -> Any:
    rest = f.division_residual(a, b, f.floor_div(a, b))
    return f.select(f.isinf(b), f.select(f.less(a * b, 0.0), b, a), rest)


def _with_nan(f: Any, y: Expression, x: Expression) -> Any:
    side = f.let("side", f.select(f.bits_to_int(x) < 0, -1.0, 1.0))
    origin = f.equals(x, 0.0) & f.equals(y, 0.0)
    angle = f.let("angle", f.atan(y, f.select(origin, side, x)))
    return f.select(f.isnan(x), x, f.select(f.isnan(y), y, angle))


def _multiply_add_wide(
    f: Any, high: Expression, low: Expression, b: Expression, c: Expression
) -> Any:
    product = f.let("product", f.rounded(high * b))
    sum = f.let("sum", f.rounded(product + c))
    back = f.let("back", f.rounded(sum - product))
    lost = f.let("lost", (product - f.rounded(sum - back)) + (c - back))
    f.remark("Products of numbers of 12 bits are exact.")
    high_1 = f.let("high_1", _upper_bits(f, high))
    high_2 = f.let("high_2", high - high_1)
    b_1 = f.let("b_1", _upper_bits(f, b))
    b_2 = f.let("b_2", b - b_1)
    parts = (high_1 * b_1 - product) + high_1 * b_2 + high_2 * b_1
    rest = f.let("rest", parts + high_2 * b_2)
    return sum + (lost + (rest + low * b))


# fmt: off
ARITHMETIC = (
    intrinsic("INFINITY -> float", "positive infinity", glsl=lambda f: _float_of(Word(0x7F800000)),
        wgsl=_hidden(0x7F800000)),
    intrinsic("NAN -> float", "a quiet NaN", glsl=lambda f: _float_of(Word(0x7FC00000)),
        wgsl=_hidden(0x7FC00000)),
    intrinsic("isnan v -> bool",
        "whether a number is NaN; WGSL's compilers may assume that none is",
        wgsl=lambda f, v: f.greater(_size(v), Word(0x7F800000)), function=True),
    intrinsic("isinf v -> bool",
        "whether a number is infinite; the other languages have it built in",
        wgsl=lambda f, v: f.equals(_size(v), Word(0x7F800000)), function=True),
    intrinsic("mod a b -> a", "the remainder of a division rounded down; GLSL has it built in",
        wgsl=lambda f, a, b: a - b * f.floor(a / b)),
    intrinsic("rounded v -> v",
        "a product that must be rounded before anything is added to it (no contraction)",
        opencl="(v)", glsl=lambda f, v: f.max(v, -3.0e38), pragma="#pragma OPENCL FP_CONTRACT OFF"),
    intrinsic("in_order v -> v",
        "a product to be multiplied by a further factor, whose factors drivers must not reorder",
        opencl="(v)", glsl=lambda f, v: f.max(v, -3.0e38)),
    # The builtin is one instruction, and PoCL's rint takes ten times as long.
    intrinsic("round_even v -> v", "the nearest integer, halves to even ones", opencl="""
#ifdef __has_builtin
#if __has_builtin(__builtin_elementwise_roundeven)
#define round_even(v) __builtin_elementwise_roundeven(v)
#endif
#endif
#ifndef round_even
#define round_even(v) rint(v)
#endif""", glsl=lambda f, v: f.roundEven(v)),
    intrinsic("round_away v:T -> T", "the nearest integer, halves away from zero", _round_away,
        opencl="round(v)"),
    # A polynomial of degree 7 times t, fitted such that the error function is right to 1.2e-7;
    # beyond 6 the probability is less than 1e-9. Its terms are joined in pairs (Estrin's scheme),
    # as a chain of them makes processors wait.
    intrinsic("tail_exponent t:T -> T",
        "log2 of the probability of a normal distribution beyond t >= 0 deviations",
        _tail_exponent),
    intrinsic("or_nan result:T v:T -> T",
        "the result, or NaN where v is NaN, which built-in functions may lose",
        lambda f, result, v: f.select(f.isnan(v), v, result)),
    intrinsic("nan_to v:T other:float -> T", "v, or the scalar `other` where v is NaN",
        lambda f, v, other: f.select(f.isnan(v), other, v)),
    intrinsic("at_least v:T low:float -> T",
        "v, or the scalar `low` where v is below it; NaN stays NaN, as max() does not promise",
        opencl=lambda f, v, low: f.select(f.less(v, low), low, v),
        glsl=lambda f, v, low: f.select(f.isnan(v), v, f.max(v, low)), any_nan="max"),
    intrinsic("if_negative v:T other:T -> T", "v, or `other` where v is below 0; NaN stays NaN",
        lambda f, v, other: f.select(f.less(v, 0.0), other, v)),
    intrinsic("limit v:T low:float high:float -> T",
        "v within the scalars `low` and `high`; NaN stays NaN, as clamp() does not promise",
        opencl="""
{{ float }} limit{{ s }}({{ float }} v, float low, float high) {
  v = v < low ? {{ same("low") }} : v;
  return v > high ? {{ same("high") }} : v;
}""", glsl=lambda f, v, low, high: f.select(f.isnan(v), v, f.clamp(v, low, high)), any_nan="clamp"),
)

# Of two floats, or of slices.
COMPARISONS = (
    intrinsic("larger a:T b:T -> T", "the larger of two; NaN only where b is",
        opencl=lambda f, a, b: f.select(f.greater(a, b), a, b),
        glsl=lambda f, a, b: f.select(f.isnan(b), b, f.max(b, a)), any_nan="max"),
    intrinsic("smaller a:T b:T -> T", "the smaller of two; NaN only where b is",
        opencl=lambda f, a, b: f.select(f.less(a, b), a, b),
        glsl=lambda f, a, b: f.select(f.isnan(b), b, f.min(b, a)), any_nan="min"),
    intrinsic("if_positive v:T a:float b:float -> T", "a where v is above 0, b elsewhere",
        lambda f, v, a, b: f.select(f.greater(v, 0.0), a, b)),
)

QUOTIENTS = (
    intrinsic("power a:T b:T -> T", "a to the power b, also of 0 and of negative a for whole b",
        opencl="pow(a, b)", glsl=_power, by_lanes=True),
    intrinsic("division_residual a:T b:T q:T -> T", "a - b * q without rounding the product",
        opencl="fma(-(q), b, a)", glsl=_division_residual),
    # A driver's quotient may be off by 2.5 units in the last place: on many GPUs 41 / 41 is less
    # than 1.
    intrinsic("rounded_quotient a:float b:float -> float",
        "a / b to the nearest float, for finite quotients",
        lambda f, a, b: a / b + f.division_residual(a, b, a / b) / b),
    intrinsic("floor_div a:T b:T -> T", "the floor of the exact quotient of floats", _floor_div),
    intrinsic("floor_mod a:T b:T -> T", "the remainder of such a division, with the sign of b",
        opencl="select(fmod(a, b), fmod(a, b) + (b), fmod(a, b) * (b) < 0.0f)", glsl=_floor_mod,
        function=True),
    # GLSL leaves atan(0, 0) undefined.
    intrinsic("atan2_nan y:T x:T -> T",
        "the angle of a point; NaN where a coordinate is, which GLSL's atan() may drop",
        opencl="atan2(y, x)", glsl=_with_nan, by_lanes=True),
    intrinsic("power_below v:T -> T", "the greatest power of two up to a positive number",
        lambda f, v: f.bits_to_float(f.bits_to_int(v) & hexadecimal(0x7F800000))),
    intrinsic("multiply_add a b c -> a", "a * b + c, rounded once", opencl="fma(a, b, c)",
        glsl=lambda f, a, b, c: a * b + c),
    intrinsic("multiply_add_wide high:T low:T b:T c:T -> T", "(high + low) * b + c, rounded once",
        opencl="""
{{ float }} multiply_add_wide{{ s }}(
    {{ float }} high, {{ float }} low, {{ float }} b, {{ float }} c) {
  #pragma OPENCL FP_CONTRACT OFF
  {{ float }} product = high * b;
  {{ float }} sum = product + c;
  {{ float }} back = sum - product;
  {{ float }} lost = (product - (sum - back)) + (c - back);
  return sum + (lost + fma(low, b, fma(high, b, -product)));
}""", glsl=_multiply_add_wide),
)
# fmt: on
