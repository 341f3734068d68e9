"""tflgpu.rescale_integers: quantized integers of one scale to those of another, of up to 32 bits.

    q = tflgpu.rescale_integers(p) from_zero=0 to_zero=-128 multiplier=.. exponent=..

Between int32, which float32 does not hold exactly, and another type; the rest flows as centered
floats (`centered.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import Array, Op
from ..target import Target
from . import numpy_functions
from .base import ANY, Launch, define, linear_launch, row_major, same_as_first
from .elementwise import Formula

RESCALE_INTEGERS = "tflgpu.rescale_integers"


def _rescaled(op: Op) -> Formula:
    before, after = op.attrs["from_zero"], op.attrs["to_zero"]
    multiplier, exponent = op.attrs["multiplier"], op.attrs["exponent"]
    limits = np.iinfo(op.output.dtype)

    def rescaled(f: Any, v: Any) -> Any:
        scaled = f.multiply_rounded_twice(v - before, multiplier, exponent)
        if op.output.dtype != "int32":
            scaled = f.clamp(scaled, limits.min - after, limits.max - after)
        return scaled + after

    return rescaled


def _linear(op: Op, target: Target) -> Launch:
    return linear_launch(op, "elementwise/convert.jinja", variables={"conversion": _rescaled(op)})


def _reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    return [_rescaled(op)(numpy_functions, arrays[0].astype(np.int64)).astype(op.output.dtype)]


define(RESCALE_INTEGERS, same_as_first, (row_major("rescale_integers", _linear),), _reference, ANY)
