"""Functions that compute faster than drivers on processors with slices of more than 4 lanes."""

from typing import Any

from ..language.expression import Expression
from .intrinsic import Formula, intrinsic


def _less_tail(first: float, second: float, *others: float) -> Formula:
    """RELU less |v| times the eighth power of a polynomial with these coefficients."""

    def formula(f: Any, v: Expression) -> Any:
        t = f.let("t", f.min(f.fabs(v), 5.5))
        root = f.let("root", first * t + second)
        for each in others:
            f.assign(root, root * t + each)
        square = f.let("square", root * root)
        fourth = f.let("fourth", square * square)
        return v - f.min(v, 0.0) - t * (fourth * fourth)

    return formula


# fmt: off
QUICK = (
    # Drivers for processors take about twice as long, and of single values compilers make no
    # vectors then. 2^n, of the number n of halvings or doublings that is nearest to v / log(2), is
    # made of n's bits, which stand in the lowest ones of a sum with 2^23 * 1.5; what remains of v
    # is a polynomial, fitted to 1e-7. It computes 2 * 2^(n - 1), as 2^128 is no float.
    intrinsic("quick_exp v:T -> T",
        "exp on CPUs with slices of more than 4 lanes, with a relative error of at most 2e-7",
        opencl="""
{{ float }} quick_exp{{ s }}({{ float }} v) {
  v = v < -87.4f ? {{ same("-87.4f") }} : v;
  v = v > 89.0f ? {{ same("89.0f") }} : v;
  {{ float }} place = v * 1.44269504f + 12583038.0f;
  {{ float }} n = place - 12583038.0f;
  {{ float }} rest = v - n * 0.693145752f - n * 1.42860677e-6f;
  {{ float }} twice = 0.016625002f * rest + 0.08378066f;
  twice = twice * rest + 0.33334231f;
  twice = twice * rest + 0.99998462f;
  twice = twice * rest + 2.0f;
  twice = twice * rest + 2.0f;
  return twice * as_{{ float }}(as_{{ int }}(place) << 23);
}"""),
    intrinsic("quick_exp2 v:T -> T",
        "2 to the power of v from -126 to 127 on such CPUs, with the same error", opencl="""
{{ float }} quick_exp2{{ s }}({{ float }} v) {
  {{ float }} place = v + 12583039.0f;
  {{ float }} rest = v - (place - 12583039.0f);
  {{ float }} power = 0.0013264659f * rest + 0.0096715661f;
  power = power * rest + 0.0555073433f;
  power = power * rest + 0.240222409f;
  power = power * rest + 0.693147004f;
  power = power * rest + 1.0f;
  return power * as_{{ float }}(as_{{ int }}(place) << 23);
}"""),
    # Beside 1, what multiplying by the rounded log2(e) loses is nothing.
    intrinsic("quick_decay v:T -> T",
        "exp of v <= 0 on such CPUs, with an absolute error of at most 2e-7", opencl="""
{{ float }} quick_decay{{ s }}({{ float }} v) {
  v *= 1.44269504f;
  return v < -126.0f ? {{ same("0.0f") }} : quick_exp2{{ s }}(v);
}""", needs=("quick_exp2",)),
    # v is 2^n times a number from sqrt(1/2) to sqrt(2), of whose distance from 1 a polynomial is
    # fitted to 4e-8. Subnormal numbers are multiplied by 2^23 before.
    intrinsic("quick_log v:T -> T", "log on such CPUs, with a relative error of at most 2e-7",
        opencl="""
{{ float }} quick_log{{ s }}({{ float }} v) {
  {{ int }} place = as_{{ int }}(v < 1.17549435e-38f ? v * 8388608.0f : v) + 0x4afb0d;
  {{ float }} n = convert_{{ float }}((place >> 23) - 127);
  n = v < 1.17549435e-38f ? n - 23.0f : n;
  {{ float }} rest = as_{{ float }}((place & 0x7fffff) + 0x3f3504f3) - 1.0f;
  {{ float }} power = 0.0870043039f * rest - 0.142674863f;
  power = power * rest + 0.149147689f;
  power = power * rest - 0.16577585f;
  power = power * rest + 0.199630633f;
  power = power * rest - 0.250013381f;
  power = power * rest + 0.333339095f;
  power = (power * rest - 0.5f) * rest * rest - n * 0.000212194440f;
  power = power + rest + n * 0.693359375f;
  {{ float }} other = v == 0.0f ? {{ same("-INFINITY") }} : {{ same("NAN") }};
  return v > 0.0f ? v < INFINITY ? power : v : other;
}"""),
    # What is left of v beyond n half turns, by parts of pi of which n times the first two are
    # exact, goes into a polynomial fitted to 6e-9. An odd number in the lowest bits of `place`, a
    # sum with 2^23 * 1.5, changes the sign.
    intrinsic("reduced_sine v:T n:T place:T -> T", "sin(v - n * pi), negated where `place` is odd",
        opencl="""
{{ float }} reduced_sine{{ s }}({{ float }} v, {{ float }} n, {{ float }} place) {
  {{ float }} rest = v - n * 3.140625f - n * 0.000967979431f + n * 3.2584137e-7f;
  {{ float }} square = rest * rest;
  {{ float }} power = 2.6056132e-6f * square - 0.00019809531f;
  power = power * square + 0.008333066f;
  power = power * square - 0.1666666f;
  power = power * square * rest + rest;
  return as_{{ float }}(as_{{ int }}(power) ^ as_{{ int }}(place) << 31);
}"""),
    # Beyond 2^14, infinities and NaN are the driver's.
    intrinsic("quick_sin v:T -> T", "sin on such CPUs, with an absolute error of at most 2e-7",
        opencl="""
{{ float }} quick_sin{{ s }}({{ float }} v) {
  if (any(0x46800000 - as_{{ int }}(fabs(v)))) return sin(v);
  {{ float }} place = v * 0.318309886f + 12582912.0f;
  return reduced_sine{{ s }}(v, place - 12582912.0f, place);
}""", needs=("reduced_sine",)),
    # A quarter turn from where sines are 0.
    intrinsic("quick_cos v:T -> T", "cos on such CPUs, with the same error", opencl="""
{{ float }} quick_cos{{ s }}({{ float }} v) {
  if (any(0x46800000 - as_{{ int }}(fabs(v)))) return cos(v);
  {{ float }} place = v * 0.318309886f - 0.5f + 12582912.0f;
  return -reduced_sine{{ s }}(v, place - 12582912.0f + 0.5f, place);
}""", needs=("reduced_sine",)),
    # A quotient of polynomials of the square, fitted to 6e-8 up to 9, from where on it is 1.
    intrinsic("quick_tanh v:T -> T", "tanh on such CPUs, with a relative error of at most 4e-7",
        opencl="""
{{ float }} quick_tanh{{ s }}({{ float }} v) {
  v = v < -9.0f ? {{ same("-9.0f") }} : v;
  v = v > 9.0f ? {{ same("9.0f") }} : v;
  {{ float }} square = v * v;
  {{ float }} above = 1.8255477e-11f * square - 1.2780534e-8f;
  above = above * square + 9.2674527e-6f;
  above = above * square + 0.0029207652f;
  above = above * square + 0.12919232f;
  above = above * square + 0.99999994f;
  {{ float }} below = 0.00022810067f * square + 0.023763184f;
  below = below * square + 0.46252516f;
  below = below * square + 1.0f;
  v = v * above / below;
  v = v < -1.0f ? {{ same("-1.0f") }} : v;
  return v > 1.0f ? {{ same("1.0f") }} : v;
}"""),
    # GELU is RELU, v - min(v, 0), which is NaN of -infinity as in LiteRT, less |v| P(|v|), where P
    # is the probability of a normal distribution beyond so many deviations. It is the eighth power
    # of a polynomial, as it falls so fast, and less than 2e-8 from 5.5 on; that of GELU by tanh is
    # alike.
    intrinsic("quick_gelu v:T -> T", "GELU on such CPUs, with an error of at most 2e-7",
        opencl=_less_tail(3.281378e-6, -3.6169233e-5, -3.791992e-5, 0.0016263133, -0.00078843493,
            -0.031868324, -0.09147184, 0.9170052)),
    intrinsic("quick_tanh_gelu v:T -> T",
        "GELU by tanh on such CPUs, with an error of at most 4e-7",
        opencl=_less_tail(-3.3436302e-6, 4.297849e-5, -0.0001839715, 0.00011485546, 0.0016052754,
            -0.00074007077, -0.031831317, -0.09148291, 0.9170061)),
)
# fmt: on
