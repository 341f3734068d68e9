"""Reductions of integers: means, sums and products are rounded, extremes stay as they are."""

from math import prod
from typing import Any

import numpy as np

from ...ir import Op, Tensor
from ...ops.fixed_point import FixedPoint
from ...ops.reduce import axes
from .int16_sums import BYTE, as_operands, bytes_of, fifteen_bits
from .lowering import EXACT, INT32, INTEGERS, Lowering, lowers


@lowers("MEAN", "SUM")
def mean(lowering: Lowering) -> Tensor:
    """The sum of the integers, times one float32 factor, plus what the zero points come to."""
    op = lowering.op
    source, result = op.operand(0), op.output
    count = prod(source.shape[axis] for axis in axes(op))
    if not count:
        raise lowering.declined("it reduces no elements")
    if source.dtype == "int16":
        return (_mean_of_int16 if op.name == "MEAN" else _sum_of_int16)(lowering, count)
    zeros, zero = count * lowering.zero(source), lowering.zero(result)
    scale = np.float32(lowering.scale(source) / lowering.scale(result))
    if op.name == "MEAN":
        scale = np.float32(scale * (np.float32(1) / np.float32(count)))
    shift = np.float32(np.float32(zero) - np.float32(np.float32(zeros) * scale))
    low, high = INTEGERS[result.dtype]
    if count * lowering.reach(source) > EXACT:
        sums, zeros = _wide_sum(lowering, count), 0
    else:
        sums = lowering.add("SUM", lowering.centered(source), op.operand(1), **_kept(op))
    return lowering.add(
        "tflgpu.requantize_mean",
        sums,
        offset=float(zeros),
        scale=float(scale),
        shift=float(shift),
        low=float(low),
        high=float(high),
        zero=float(zero),
    )


def _kept(op: Op) -> dict[str, Any]:
    return {key: value for key, value in op.attrs.items() if key == "keep_dims"}


def _wide_sum(lowering: Lowering, count: int) -> Tensor:
    """The sum of the `count` stored integers for each result, rounded to float32 once.

    It has the result's shape. As many axes as are exact are added up in float32, the rest in int32.
    """
    op, source = lowering.op, lowering.op.operand(0)
    low, high = INTEGERS[source.dtype]
    if count * max(-low, high) > INT32:
        raise lowering.declined(f"the sum of {count} integers may not fit in 32 bits")
    reach, zeros = lowering.reach(source), count * lowering.zero(source)
    first: list[int] = []
    for axis in reversed(axes(op)):
        if prod(source.shape[i] for i in (axis, *first)) * reach <= EXACT:
            first.append(axis)
    sums = lowering.centered(source)
    if first:
        sums = lowering.add("SUM", sums, lowering.constant(first, "int32"), keep_dims=True)
    whole = lowering.add(
        "SUM", lowering.add("CAST", sums, dtype="int32"), op.operand(1), **_kept(op)
    )
    return lowering.add(
        "CAST", lowering.add("ADD", whole, lowering.constant(zeros, "int32")), dtype="float32"
    )


def _sum_of_int16(lowering: Lowering, count: int) -> Tensor:
    """Rounded to float32, times one float32 factor, ties away from zero."""
    source, result = lowering.op.operand(0), lowering.op.output
    sums, scale = _wide_sum(lowering, count), float(lowering.scale(source) / lowering.scale(result))
    return lowering.rounded("tflgpu.rescale", sums, zero=0.0, scale=scale, shift=0.0)


def _mean_of_int16(lowering: Lowering, count: int) -> Tensor:
    """As LiteRT's own kernels: times a factor that is divided by the count, as an integer."""
    op = lowering.op
    lowering.require_exact(count * BYTE)
    scales = [np.float64(lowering.scale(tensor)) for tensor in (op.operand(0), op.output)]
    factor = lowering.fixed_point(scales[0] / scales[1])
    shift = min(count.bit_length() - 1, 31 + factor.exponent)
    divided = FixedPoint((factor.multiplier << shift) // count, factor.exponent - shift)
    sums = [
        lowering.add("SUM", part, op.operand(1), **_kept(op))
        for part in bytes_of(lowering, lowering.centered(op.operand(0)))
    ]
    name, operands = "tflgpu.requantize_channels_rounded_twice", as_operands(lowering, [divided])
    value = lowering.rounded(name, *sums, *operands, bounds=INTEGERS["int16"])
    return lowering.reshape(value, op.output.shape)


@lowers("REDUCE_PROD")
def product(lowering: Lowering) -> Tensor:
    """Scaled after each factor, so that the last factor gives the result's scale."""
    op = lowering.op
    source, result, reduced = op.operand(0), op.output, axes(op)
    count = prod(source.shape[axis] for axis in reduced)
    if not reduced or not count:
        raise lowering.declined("it reduces no elements")
    kept = [axis for axis in range(len(source.shape)) if axis not in reduced]
    rows = lowering.transpose(lowering.centered(source), (*kept, *reduced))
    scales = [np.float64(lowering.scale(tensor)) for tensor in (source, result)]
    multiplier, shift = fifteen_bits(lowering, float(scales[0] / scales[1] ** (1.0 / count)))
    low, high = lowering.bounds(result)
    value = lowering.add(
        "tflgpu.product_of_integers",
        lowering.reshape(rows, (-1, count)),
        multiplier=multiplier,
        shift=shift,
        low=low,
        high=high,
    )
    return lowering.reshape(value, result.shape)


@lowers("REDUCE_MAX", "REDUCE_MIN")
def extreme(lowering: Lowering) -> Tensor:
    """Of the stored integers; LiteRT disregards their scales."""
    op = lowering.op
    source = op.operand(0)
    value = lowering.add(op.name, lowering.centered(source), op.operand(1), **op.attrs)
    return lowering.reinterpreted(value, source, op.output)


@lowers("ARG_MAX", "ARG_MIN")
def place(lowering: Lowering) -> Tensor:
    """Integers are in the same order as the real numbers they stand for."""
    op = lowering.op
    values = lowering.centered(op.operand(0))
    return lowering.several(op.name, (values, *op.inputs[1:]), [op.output.dtype], **op.attrs)[0]
