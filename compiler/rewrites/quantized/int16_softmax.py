"""SOFTMAX of int16: powers and a reciprocal from tables of 512 straight lines.

d = x - largest of the row                     at most 0
p = powers of d, with 15 fractional bits       t = their sum
y = p * reciprocal of t, shifted by as many bits as t has before the point
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.fixed_point import fixed_point, half_away
from .lowering import Lowering

LINES = 512
RANGE = 65535
"""Steps from the least to the greatest int16."""
ONE = 32767
"""What stands for 1 with 15 fractional bits."""


def int16_softmax(lowering: Lowering) -> None:
    """As LiteRT's own kernels compute it."""
    op = lowering.op
    source, result = op.operand(0), op.output
    count = source.shape[-1]
    if result.dtype != "int16":
        raise lowering.declined("its operand is int16, but its result is not")
    lowering.require_exact(count * ONE)
    x = lowering.centered(source)
    last = lowering.constant([len(source.shape) - 1], "int32")
    distance = lowering.add("SUB", x, lowering.add("REDUCE_MAX", x, last, keep_dims=True))
    beta = np.float32(op.attrs.get("beta", 1.0))
    factor = fixed_point(float(np.float32(lowering.scale(source) * beta)) / (10.0 / RANGE))
    numbers: dict[str, Any] = {"multiplier": factor.multiplier, "exponent": factor.exponent}
    scaled = lowering.add(
        "tflgpu.requantize_rounded_twice", distance, **numbers, low=-RANGE, high=0
    )
    powers = _looked_up(lowering, "powers", scaled, RANGE, _lines(np.exp, -10.0, 0.0))
    total = lowering.add("SUM", powers, last, keep_dims=True)
    unit = lowering.add("tflgpu.power_below", total)
    place = lowering.add("tflgpu.normalized", total, unit)
    reciprocals = _lines(lambda value: 1 / (1 + value), 0.0, 1.0)
    # One more entry, for what is rounded up to 2.
    reciprocal = _looked_up(
        lowering, "reciprocals", place, -(1 << 16), np.append(reciprocals, reciprocals[-1])
    )
    lowering.finish_centered(lowering.add("tflgpu.share", powers, reciprocal, unit))


def _looked_up(lowering: Lowering, name: str, index: Tensor, offset: int, entries: Array) -> Tensor:
    table = constant(f"{lowering.op.output.name}/{name}", entries.astype(np.float32))
    return lowering.add("tflgpu.look_up", index, table, offset=offset)


def _lines(function: Callable[[Array], Array], low: float, high: float) -> Array:
    """A function at 65536 places between two numbers, with 15 fractional bits.

    The ends of lines are moved by half of what the line is off in its middle.
    """
    step = (high - low) / LINES
    scale = (RANGE + 1) / 2.0
    ends = low + step * np.arange(LINES + 1)
    exact = half_away(function(ends) * scale)
    middle = half_away(function(ends[:-1] + step / 2) * scale)
    drawn = half_away((function(ends[1:]) * scale + exact[:-1]) / 2)
    moved = np.append(exact[:-1] - half_away((drawn - middle) / 2), exact[-1])
    table = np.clip(moved, -ONE - 1, ONE).astype(np.int64)
    places = np.arange(RANGE + 1)
    first, part = places >> 7, places & 127
    return np.asarray(table[first] + ((np.diff(table)[first] * part + 64) >> 7))
