"""Reductions of integers: means and sums are scaled and rounded, extremes stay as they are."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ops.fixed_point import FixedPoint, fixed_point
from ...ops.reduce import axes
from .lowering import EXACT, INTEGERS, Lowering, lowers
from .sixteen_bits import BYTE, as_operands, bytes_of


@lowers("MEAN", "SUM")
def mean(here: Lowering) -> None:
    """The sum of the integers, times one float32 factor, plus what the zero points come to."""
    op = here.op
    source, result = op.operand(0), op.output
    count = prod(source.shape[axis] for axis in axes(op))
    if not count:
        raise here.declined("it reduces no elements")
    if source.dtype == "int16":
        _mean_of_bytes(here, count)
        return
    if count * here.reach(source) > EXACT:
        raise here.declined(f"the sum of {count} integers may not be exact in float32")
    zeros, zero = count * here.zero(source), here.zero(result)
    scale = np.float32(here.scale(source) / here.scale(result))
    if op.name == "MEAN":
        scale = np.float32(scale * (np.float32(1) / np.float32(count)))
    shift = np.float32(np.float32(zero) - np.float32(np.float32(zeros) * scale))
    low, high = INTEGERS[result.dtype]
    attrs = {key: value for key, value in op.attrs.items() if key == "keep_dims"}
    sums = here.add("SUM", here.centered(source), op.operand(1), **attrs)
    value = here.add(
        "tflgpu.requantize_mean",
        sums,
        offset=float(zeros),
        scale=float(scale),
        shift=float(shift),
        low=float(low),
        high=float(high),
        zero=float(zero),
    )
    here.finish_centered(value)


def _mean_of_bytes(here: Lowering, count: int) -> None:
    """As LiteRT's own kernels: times a factor that is divided by the count, as an integer."""
    op = here.op
    if op.name == "SUM":
        raise here.declined("there is no formula for sums of int16")
    if count * BYTE > EXACT:
        raise here.declined(f"a mean of {count} numbers of int16 is not exact")
    scales = [np.float64(here.scale(tensor)) for tensor in (op.operand(0), op.output)]
    factor = fixed_point(float(scales[0] / scales[1]))
    shift = min(count.bit_length() - 1, 31 + factor.exponent)
    divided = FixedPoint((factor.multiplier << shift) // count, factor.exponent - shift)
    attrs = {key: value for key, value in op.attrs.items() if key == "keep_dims"}
    sums = [
        here.add("SUM", part, op.operand(1), **attrs)
        for part in bytes_of(here, here.centered(op.operand(0)))
    ]
    low, high = INTEGERS["int16"]
    operands = (*sums, *as_operands(here, [divided]))
    value = here.add("tflgpu.requantize_channels_doubly", *operands, low=low, high=high)
    here.finish_centered(value)


@lowers("REDUCE_MAX", "REDUCE_MIN")
def extreme(here: Lowering) -> None:
    """Of the integers themselves, whatever they stand for."""
    op = here.op
    source = op.operand(0)
    value = here.add(op.name, here.centered(source), op.operand(1), **op.attrs)
    here.finish_centered(here.taken_over(value, source, op.output))


@lowers("ARG_MAX", "ARG_MIN")
def place(here: Lowering) -> None:
    """The order of integers is that of what they stand for."""
    op = here.op
    values = here.centered(op.operand(0))
    here.finish(here.several(op.name, (values, *op.inputs[1:]), [op.output.dtype], **op.attrs)[0])
