"""Floats as integers: each row or image is quantized with a scale and a zero point of its own."""

from ...ir import Tensor
from ...ops.reduce.extremes import EXTREMES, FORMULAS, ROW_SCALES, ROW_STEPS
from .lowering import Lowering

MOST = 127.0  # What the largest value of a row becomes.

ONE_STEP = 1 << 12  # The most values of an image whose extremes are found in one step.

# The least such value that is told from 0; 127 is still divided by it without overflow.
LEAST = 4e-37


def by_rows(here: Lowering, values: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Centered integers, and the scale they have along all but these axes."""
    scale, zero = of_lines(here, ROW_SCALES, values, axes)
    return here.add("tflgpu.quantize_rows", values, scale, zero), scale


def rows_away(here: Lowering, values: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Centered integers as LiteRT's own kernels make them, and what one of them stands for."""
    step, inverse, zero = of_lines(here, ROW_STEPS, values, axes)
    return here.add("tflgpu.quantize_rows_away", values, inverse, zero), step


def symmetric_rows(here: Lowering, rows: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Integers from -127 to 127, and what one of them stands for."""
    last = here.constant(axes, "int32")
    most = here.add("REDUCE_MAX", here.add("ABS", rows), last, keep_dims=True)
    most = here.add("MAXIMUM", most, here.constant(LEAST))
    inverse = here.add("DIV", here.constant(MOST), most)
    integers = here.add("tflgpu.quantize_rows_away", rows, inverse, here.constant(0))
    return integers, here.add("DIV", most, here.constant(MOST))


def quantized_rows(here: Lowering, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Integers along the last axis, and what one stands for, as the operator asks for them."""
    asked = here.op.attrs.get("asymmetric_quantize_inputs")
    return (rows_away if asked else symmetric_rows)(here, rows, [len(rows.shape) - 1])


def of_lines(here: Lowering, name: str, values: Tensor, axes: list[int]) -> tuple[Tensor, ...]:
    """What an operator makes of the extremes along these axes, which are kept at size 1.

    Images are reduced in two steps, of which the first has work for the whole device: a processor
    reads a row of pixels at once, and work-items of a GPU neighbouring columns.
    """
    if len(axes) > 1 and values.elements > ONE_STEP:
        first = axes[1:] if here.target.on_processor else axes[:1]
        ends = here.several(EXTREMES, [values], ["float32"] * 2, axes=tuple(first))
        values = here.add("CONCATENATION", *ends, axis=axes[0])
    return here.several(name, [values], ["float32"] * len(FORMULAS[name]), axes=tuple(axes))
