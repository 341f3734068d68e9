"""Operators along the last axis of centered integers, of which a work-item computes a row.

LiteRT rounds after every step, so that the order of the steps counts.

tflgpu.softmax_integers: powers come from a table and are added up in float32.

tflgpu.product_of_integers: the product is scaled after each factor, so that it fits in 32 bits, and
once more at the end; all are rounded to integers, halves upwards:

    p = x[0]    p = p * x[i] * multiplier / 2^shift    y = p * multiplier / 2^shift

tflgpu.normalize_integers: layer normalization of 16-bit integers, as in LiteRT's LSTM. Weights and
bias are constants, with an element for each column. Every step is one of fixed-point integers;
1 / sqrt(v) has 31 bits:

    m = sum(x) * 1024 / count               v = sum(x^2) / count - m^2
    n = (1024 * x - m) / sqrt(v)
    y = (n * weights + bias) / 1024 * multiplier * 2^(power - 31)
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import rank_fits
from ..base.launch import Launch, linear_grid
from ..base.shapes import same_as_first
from ..base.storage import LINEAR, bhwc
from ..base.traits import Traits, by_attributes

MOST_NORMALIZED = 65535  # The longest row that is normalized: its sums fit in 32 bits.


def powers_below(factor: np.float32 | Array) -> Array:
    """exp(-factor * distance) for the distances from 0 to 255, float32.

    Rounded from float64, as numpy's exp of float32 is not always the nearest, which that of C is.
    """
    exponents = -factor * np.arange(256, dtype=np.float32)
    return np.exp(exponents.astype(np.float64)).astype(np.float32)


def _by_rows(op: Op, template: str, flops: int, constants: Mapping[str, Array]) -> Launch:
    """A launch whose template knows the attributes, too; `flops` are those of an element."""
    x = op.operand(0)
    *outer, count = x.shape
    variables = {"count": count, "rows": prod(outer), **op.attrs}
    reads, writes, flops = {"x": x}, {"y": op.output}, flops * x.elements
    grid = linear_grid(prod(outer))
    return Launch(template, grid, reads, writes, constants, variables, flops=flops)


def _softmax(op: Op, target: Target) -> Launch:
    powers = powers_below(np.float32(op.attrs["factor"]))
    return _by_rows(op, "reduce/softmax_integers.jinja", 5, {"powers": powers})


def _sliced_softmax(op: Op, target: Target) -> Launch:
    batch, height, width, _ = bhwc(op.output.shape)
    template, grid = "reduce/softmax_integers_sliced.jinja", (width, height, batch)
    return replace(_softmax(op, target), template=template, grid=grid)


def _normalized(op: Op, target: Target) -> Launch:
    weights, bias = op.constant(1), op.constant(2)
    constants = {"factors": weights, "upper": bias >> 16, "lower": bias & 0xFFFF}
    floats = {name: array.astype(np.float32) for name, array in constants.items()}
    return _by_rows(op, "reduce/normalize_integers.jinja", 12, floats)


SOFTMAX = (
    Implementation("softmax_integers_sliced", _sliced_softmax, rank_fits),
    Implementation("softmax_integers_sliced", _sliced_softmax, rank_fits, reads=LINEAR),
    row_major("softmax_integers", _softmax),
)
PRODUCT = (
    row_major(
        "product_of_integers", lambda op, _: _by_rows(op, "reduce/product_of_integers.jinja", 4, {})
    ),
)
NORMALIZED = (row_major("normalize_integers", _normalized),)

_TRAITS = Traits(range=by_attributes)

define("tflgpu.softmax_integers", same_as_first, SOFTMAX, traits=_TRAITS)
define("tflgpu.product_of_integers", lambda op: [op.operand(0).shape[:-1]], PRODUCT, traits=_TRAITS)
define("tflgpu.normalize_integers", same_as_first, NORMALIZED, traits=_TRAITS)
