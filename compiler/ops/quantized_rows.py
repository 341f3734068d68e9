"""tflgpu.quantized_rows: rows of floats as integers, with their scales and zero points.

The core of the fused operator is a tflgpu.row_scales and, of the same rows, a tflgpu.round_rows or
tflgpu.quantize_rows:

    s, z = tflgpu.row_scales(x)   i = tflgpu.round_rows(x, s, z)       outputs i, s, z
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir import Op
from ..target import Target
from . import row_scales
from .base import LINEAR, Implementation, Launch, OpDef, as_inferred, define
from .elementwise import ELEMENTWISE, flattens, rank_fits

NAME = "tflgpu.quantized_rows"
ROUNDING = ("tflgpu.round_rows", "tflgpu.quantize_rows")


def _launch(op: Op, launch: Launch) -> Sequence[Launch]:
    integers, scales, points = op.outputs
    rounding = ELEMENTWISE[op.core[-1].name]
    return [
        replace(
            launch,
            template="reduce/quantized_rows.jinja",
            writes={"y": integers, "scales": scales, "points": points},
            variables={**launch.variables, "rounded": rounding.formula},
            flops=launch.flops + 2 * integers.elements,
        )
    ]


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    return _launch(op, row_scales.lines(op).by_slices(target, {3}, flatten=flattens(op)))


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    return _launch(op, row_scales.lines(op).by_rows())


define(
    OpDef(
        NAME,
        as_inferred,
        (
            Implementation("quantized_rows", _sliced, rank_fits, fuses=False),
            Implementation(
                "quantized_rows_linear", _linear, reads=LINEAR, writes=LINEAR, fuses=False
            ),
        ),
    )
)
