"""The table of elementwise operators with one operand."""

from math import erf
from typing import Any

import numpy as np

from ..base.storage import ANY, FLOATS, INTEGERS
from ..base.traits import among_operands
from .elementwise import Elementwise, define_elementwise

_ARITHMETIC = (*FLOATS, *INTEGERS)


def _gelu(f: Any, a: Any, *, approximate: bool = False) -> Any:
    if f.wide:
        return f.quick_tanh_gelu(a) if approximate else f.quick_gelu(a)
    if approximate:
        # a * (1 + tanh(t)) / 2, where (1 + tanh(t)) / 2 is 1 / (1 + exp(-2 * t))
        return a / (1.0 + f.exp(-1.5957691 * (a + 0.044715 * a * a * a)))
    # a * P(Z < a) of a normal distribution, where a * P(Z < a) is a - a * P(Z > a)
    size = f.max(a, -a)
    return f.at_least(a, 0.0) - f.min(size, 6.0) * _normal_tail(f, size)


def _normal_tail(f: Any, t: Any) -> Any:
    """The probability of a normal distribution beyond t >= 0 deviations, right to 1e-7."""
    return f.exp2(f.tail_exponent(t))


def _erf(f: Any, a: Any) -> Any:
    return f.or_nan(f.sign(a) * (1.0 - 2.0 * _normal_tail(f, f.max(a, -a) * 1.41421356)), a)


def _tanh(f: Any, a: Any) -> Any:
    # Languages may lose NaN; the intrinsic for wide slices does not.
    return f.tanh(a) if f.wide else f.or_nan(f.tanh(a), a)


def _mish(f: Any, a: Any) -> Any:
    """a * tanh(log(1 + exp(a))), where tanh(log(t)) is 1 - 2 / (t * t + 1)."""
    return a * (1.0 - 2.0 / ((1.0 + f.exp(a)) * (1.0 + f.exp(a)) + 1.0))


def _fake_quant(f: Any, a: Any, *, least: Any, most: Any, scale: Any, inverse: Any) -> Any:
    inside = f.clamp(f.nan_to(a, least), least, most)
    return f.round_away((inside - least) * inverse) * scale + least


UNARY = {
    "ABS": Elementwise(lambda f, a: f.max(a, -a), dtypes=_ARITHMETIC, versions=5, cheap=True),
    "CEIL": Elementwise(lambda f, a: f.ceil(a)),
    "COS": Elementwise(lambda f, a: f.cos(a), versions=2),
    "ELU": Elementwise(
        lambda f, a: f.at_least(a, 0.0) + (f.exp(f.min(a, 0.0)) - 1.0),
        function=lambda a: np.maximum(a, 0) + np.expm1(np.minimum(a, 0)),
    ),
    "EXP": Elementwise(lambda f, a: f.exp(a), versions=2),
    "FLOOR": Elementwise(lambda f, a: f.floor(a)),
    "GELU": Elementwise(_gelu, versions=3),
    "HARD_SWISH": Elementwise(lambda f, a: a * f.limit(a * 0.16666667 + 0.5, 0.0, 1.0), cheap=True),
    "LEAKY_RELU": Elementwise(
        lambda f, a, *, alpha: f.if_negative(a, alpha * a), versions=2, cheap=True
    ),
    "LOG": Elementwise(lambda f, a: f.log(a), versions=2),
    "LOGICAL_NOT": Elementwise(lambda f, a: 1 - a, dtypes=("bool",)),
    "LOGISTIC": Elementwise(lambda f, a: 1.0 / (1.0 + f.exp(-a)), versions=3),
    "NEG": Elementwise(lambda f, a: -a, dtypes=_ARITHMETIC, cheap=True),
    "RELU": Elementwise(
        lambda f, a: f.at_least(a, 0.0), versions=3, cheap=True, range=among_operands
    ),
    "RELU6": Elementwise(lambda f, a: f.limit(a, 0.0, 6.0), versions=3, cheap=True),
    "RELU_0_TO_1": Elementwise(lambda f, a: f.limit(a, 0.0, 1.0), cheap=True),
    "RELU_N1_TO_1": Elementwise(lambda f, a: f.limit(a, -1.0, 1.0), cheap=True),
    "ROUND": Elementwise(lambda f, a: f.round_even(a)),
    "RSQRT": Elementwise(lambda f, a: 1.0 / f.sqrt(a), versions=3),
    "SIGN": Elementwise(
        lambda f, a: f.or_nan(f.sign(a), a),
        integer=lambda f, a: f.clamp(a, -1, 1),
        dtypes=_ARITHMETIC,
        versions=2,
    ),
    "SIN": Elementwise(lambda f, a: f.sin(a), versions=2),
    "SQRT": Elementwise(lambda f, a: f.sqrt(a), versions=2),
    "SQUARE": Elementwise(lambda f, a: a * a, dtypes=_ARITHMETIC, cheap=True),
    "TANH": Elementwise(_tanh, versions=3),
    "tflgpu.erf": Elementwise(_erf, function=np.vectorize(erf, otypes=[np.float64])),
    "tflgpu.fake_quant": Elementwise(_fake_quant),
    "tflgpu.copy": Elementwise(lambda f, a: a, dtypes=ANY, range=among_operands),
    "tflgpu.mish": Elementwise(_mish, function=lambda a: a * np.tanh(np.log1p(np.exp(a)))),
    "tflgpu.silu": Elementwise(lambda f, a: a / (1.0 + f.exp(-a))),
}

define_elementwise(UNARY)
