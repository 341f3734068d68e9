"""tflgpu.rescale_integers: quantized integers of one scale to those of another, of up to 32 bits.

    q = tflgpu.rescale_integers(p) from_zero=0 to_zero=-128 multiplier=.. exponent=..

Between int32, which float32 does not hold exactly, and another type; the rest flows as centered
floats (`centered.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from ..language import affine
from ..target import Target
from .base import ANY, LINEAR, Implementation, Launch, OpDef, define, linear_launch, same_as_first
from .fixed_point import multiply_rounded_twice

RESCALE_INTEGERS = "tflgpu.rescale_integers"


def _expression(op: Op) -> str:
    before, after = op.attrs["from_zero"], op.attrs["to_zero"]
    factor = f"{op.attrs['multiplier']}, {op.attrs['exponent']}"
    scaled = f"{{use.multiply_rounded_twice}}({affine('{v}', 1, -before)}, {factor})"
    if op.output.dtype == "int32":
        return affine(scaled, 1, after)
    limits = np.iinfo(op.output.dtype)
    clamped = f"clamp({scaled}, {limits.min - after}, {limits.max - after})"
    return affine(clamped, 1, after)


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    return [linear_launch(op, "elementwise/convert.jinja", {"expression": _expression(op)})]


def _reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    centered = arrays[0].astype(np.int64) - op.attrs["from_zero"]
    scaled = multiply_rounded_twice(centered, op.attrs["multiplier"], op.attrs["exponent"])
    limits = np.iinfo(op.output.dtype)
    whole = np.clip(scaled + op.attrs["to_zero"], limits.min, limits.max)
    return [whole.astype(op.output.dtype)]


define(
    OpDef(
        RESCALE_INTEGERS,
        same_as_first,
        (Implementation("rescale_integers", _linear, reads=LINEAR, writes=LINEAR),),
        _reference,
        ANY,
    )
)
