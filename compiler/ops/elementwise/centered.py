"""Integers of quantized tensors as kernels compute with them: floats, less the zero point.

    c = tflgpu.to_centered(q) zero_point=-128      float32, 0 where q stands for 0
    q = tflgpu.from_centered(c) zero_point=-128    int8, uint8 or int16

Whole numbers are exact in float32 up to 2^24, sums of their products too, and zero padding is what
it is for floats. Only int32, which float32 does not hold exactly, is rescaled as it is stored:

    q = tflgpu.rescale_integers(p) from_zero=0 to_zero=-128 multiplier=.. exponent=..
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...ir import Op
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens, rank_fits
from ..base.launch import Launch, linear_launch, sliced_grid
from ..base.shapes import same_as_first
from ..base.storage import ANY, LINEAR, SLICED, element_dtype
from ..base.traits import Range, Traits
from ..layers.byte_products import WORD
from . import numpy_functions
from .elementwise import Formula

TO_CENTERED = "tflgpu.to_centered"
FROM_CENTERED = "tflgpu.from_centered"


def _linear(conversion: Formula) -> Implementation:
    """A conversion by a formula of the value and the zero point."""

    def build(op: Op, target: Target) -> Launch:
        bound = partial(conversion, zero=op.attrs["zero_point"])
        return linear_launch(op, "elementwise/convert.jinja", variables={"conversion": bound})

    return row_major("convert_linear", build)


def _to_sliced(op: Op, target: Target) -> Launch:
    flat = flattens(op)
    grid = sliced_grid(op.output.shape, target, flat)
    variables = {"zero": op.attrs["zero_point"]}
    reads, writes = {"x": op.operand(0)}, {"y": op.output}
    return Launch("move/to_centered.jinja", grid, reads, writes, variables=variables, flatten=flat)


def _other_bytes(op: Op, target: Target) -> str | None:
    """Why the integers are not stored as they are given; None if nothing has to be computed."""
    source, whole = op.operand(0), op.output.whole
    if target.byte_products and source.shape[-1:] >= (WORD,):
        return "layers that multiply bytes read them in slices"
    if whole is None or element_dtype(op.output) != element_dtype(source):
        return "its result is not stored as its operand is"
    if whole.row_base != -op.attrs["zero_point"]:
        return "its result is stored less another number"
    if source.variable:
        return f"{source.name} is a variable, which may change before its result is read"
    return None


def _range_of_centered(op: Op, ranges: Sequence[Range | None]) -> Range:
    limits, zero = np.iinfo(op.operand(0).dtype), op.attrs["zero_point"]
    return limits.min - zero, limits.max - zero


define(
    TO_CENTERED,
    same_as_first,
    (
        Implementation("to_centered", _to_sliced, rank_fits, reads=LINEAR, writes=SLICED),
        row_major("view_centered", lambda op, _: [], _other_bytes, fuses=False, is_view=True),
        _linear(lambda f, v, *, zero: f.to_float(v - zero)),
    ),
    lambda op, x: x.astype(np.float32) - np.float32(op.attrs["zero_point"]),
    ANY,
    traits=Traits(range=_range_of_centered),
)
define(
    FROM_CENTERED,
    same_as_first,
    (_linear(lambda f, v, *, zero: f.to_int(v) + zero),),
    lambda op, x: x.astype(np.int64) + op.attrs["zero_point"],
    ANY,
)
define(
    "QUANTIZE x -> y", same_as_first, dtypes=ANY, versions=3, note="of floats, or to another scale"
)

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


def _build_rescaled(op: Op, target: Target) -> Launch:
    return linear_launch(op, "elementwise/convert.jinja", variables={"conversion": _rescaled(op)})


define(
    RESCALE_INTEGERS,
    same_as_first,
    (row_major("rescale_integers", _build_rescaled),),
    lambda op, x: _rescaled(op)(numpy_functions, x.astype(np.int64)),
    ANY,
)
