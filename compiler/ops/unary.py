"""The table of elementwise operators with one operand."""

from __future__ import annotations

from math import erf, pi, sqrt

import numpy as np

from ..ir import Array
from .base import (
    ANY,
    FLOATS,
    INTEGERS,
    among_operands,
)
from .elementwise import Elementwise, define_elementwise

_ARITHMETIC = (*FLOATS, *INTEGERS)

_GELU = "0.5f * {a} * (1.0f + {use.error_function}({a} * 0.70710678f))"
_GELU_TANH = "{a} / (1.0f + exp(-1.5957691f * ({a} + 0.044715f * {a} * {a} * {a})))"
"""a * (1 + tanh(t)) / 2, where (1 + tanh(t)) / 2 is 1 / (1 + exp(-2 * t))."""

_MISH = "{a} * (1.0f - 2.0f / ((1.0f + exp({a})) * (1.0f + exp({a})) + 1.0f))"
"""a * tanh(log(1 + exp(a))), where tanh(log(t)) is 1 - 2 / (t * t + 1)."""


def _logistic(a: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-a)))


def _gelu(a: Array, approximate: bool = False) -> Array:
    if approximate:
        return np.asarray(0.5 * a * (1 + np.tanh(sqrt(2 / pi) * (a + 0.044715 * a**3))))
    return np.asarray(0.5 * a * (1 + np.vectorize(erf)(a / sqrt(2))))


def _fake_quant(a: Array, least: float, most: float, scale: float, inverse: float) -> Array:
    """NaN becomes the least number, and halves are rounded up, as none is negative."""
    inside = np.clip(np.where(np.isnan(a), least, a), least, most).astype(np.float32)
    steps = (inside - np.float32(least)) * np.float32(inverse)
    return np.asarray(np.floor(steps + 0.5) * np.float32(scale) + np.float32(least))


UNARY = {
    "ABS": Elementwise(
        "max({a}, -{a})", np.abs, "max({a}, -{a})", _ARITHMETIC, versions=5, cheap=True
    ),
    "CEIL": Elementwise("ceil({a})", np.ceil),
    "COS": Elementwise("cos({a})", np.cos, versions=2),
    "ELU": Elementwise(
        "{use.at_least}({a}, 0.0f) + (exp(min({a}, 0.0f)) - 1.0f)",
        lambda a: np.maximum(a, 0) + np.expm1(np.minimum(a, 0)),
    ),
    "EXP": Elementwise("exp({a})", np.exp, versions=2),
    "FLOOR": Elementwise("floor({a})", np.floor),
    "GELU": Elementwise(_GELU, _gelu, switch=("approximate", _GELU_TANH), versions=3),
    "HARD_SWISH": Elementwise(
        "{a} * {use.limit}({a} * 0.16666667f + 0.5f, 0.0f, 1.0f)",
        lambda a: a * np.clip(a / 6 + 0.5, 0, 1),
        cheap=True,
    ),
    "LEAKY_RELU": Elementwise(
        "{use.if_negative}({a}, {alpha} * {a})",
        lambda a, alpha: np.where(a < 0, alpha * a, a),
        versions=2,
        cheap=True,
    ),
    "LOG": Elementwise("log({a})", np.log, versions=2),
    "LOGICAL_NOT": Elementwise("1 - {a}", np.logical_not, "1 - {a}", ("bool",)),
    "LOGISTIC": Elementwise("1.0f / (1.0f + exp(-{a}))", _logistic, versions=3),
    "NEG": Elementwise("-{a}", np.negative, "-{a}", _ARITHMETIC, cheap=True),
    "RELU": Elementwise(
        "{use.at_least}({a}, 0.0f)",
        lambda a: np.maximum(a, 0),
        versions=3,
        cheap=True,
        range=among_operands,
    ),
    "RELU6": Elementwise(
        "{use.limit}({a}, 0.0f, 6.0f)", lambda a: np.clip(a, 0, 6), versions=3, cheap=True
    ),
    "RELU_0_TO_1": Elementwise(
        "{use.limit}({a}, 0.0f, 1.0f)", lambda a: np.clip(a, 0, 1), cheap=True
    ),
    "RELU_N1_TO_1": Elementwise(
        "{use.limit}({a}, -1.0f, 1.0f)", lambda a: np.clip(a, -1, 1), cheap=True
    ),
    "ROUND": Elementwise("{use.round_even}({a})", np.rint),
    "RSQRT": Elementwise("1.0f / sqrt({a})", lambda a: 1 / np.sqrt(a), versions=3),
    "SIGN": Elementwise(
        "{use.or_nan}(sign({a}), {a})", np.sign, "clamp({a}, -1, 1)", _ARITHMETIC, versions=2
    ),
    "SIN": Elementwise("sin({a})", np.sin, versions=2),
    "SQRT": Elementwise("sqrt({a})", np.sqrt, versions=2),
    "SQUARE": Elementwise("{a} * {a}", np.square, "{a} * {a}", _ARITHMETIC, cheap=True),
    "TANH": Elementwise("{use.or_nan}(tanh({a}), {a})", np.tanh, versions=3),
    "tflgpu.erf": Elementwise("{use.error_function}({a})", np.vectorize(erf)),
    "tflgpu.fake_quant": Elementwise(
        "{use.round_away}((clamp({use.nan_to}({a}, {least}), {least}, {most}) - {least}) "
        "* {inverse}) * {scale} + {least}",
        _fake_quant,
    ),
    "tflgpu.copy": Elementwise("{a}", np.copy, "{a}", ANY, range=among_operands),
    "tflgpu.mish": Elementwise(_MISH, lambda a: a * np.tanh(np.log1p(np.exp(a)))),
    "tflgpu.silu": Elementwise("{a} / (1.0f + exp(-{a}))", lambda a: a * _logistic(a)),
}

define_elementwise(UNARY)
