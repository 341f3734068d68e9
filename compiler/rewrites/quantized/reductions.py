"""Reductions of integers: means, sums and products are rounded, extremes stay as they are."""

from math import prod
from typing import Any

import numpy as np

from ...ir import Op, Tensor
from ...ops.elementwise.fixed_point import FixedPoint
from ...ops.reduce.reduce import axes
from .int16_sums import BYTE, as_operands, bytes_of, fifteen_bits
from .lowering import EXACT, INT32, INTEGERS, Lowering, lowers


@lowers("MEAN", "SUM")
def mean(here: Lowering) -> Tensor:
    """The sum of the integers, times one float32 factor, plus what the zero points come to."""
    op = here.op
    source, result = op.operand(0), op.output
    count = prod(source.shape[axis] for axis in axes(op))
    if not count:
        raise here.declined("it reduces no elements")
    if source.dtype == "int16":
        return (_mean_of_int16 if op.name == "MEAN" else _sum_of_int16)(here, count)
    zeros, zero = count * here.zero(source), here.zero(result)
    scale = np.float32(here.scale(source) / here.scale(result))
    if op.name == "MEAN":
        scale = np.float32(scale * (np.float32(1) / np.float32(count)))
    shift = np.float32(np.float32(zero) - np.float32(np.float32(zeros) * scale))
    low, high = INTEGERS[result.dtype]
    if count * here.reach(source) > EXACT:
        sums, zeros = _wide_sum(here, count), 0
    else:
        sums = here.add("SUM", here.centered(source), op.operand(1), **_kept(op))
    return here.add(
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


def _wide_sum(here: Lowering, count: int) -> Tensor:
    """The sum of the `count` stored integers for each result, rounded to float32 once.

    It has the result's shape. As many axes as are exact are added up in float32, the rest in int32.
    """
    op, source = here.op, here.op.operand(0)
    low, high = INTEGERS[source.dtype]
    if count * max(-low, high) > INT32:
        raise here.declined(f"the sum of {count} integers may not fit in 32 bits")
    reach, zeros = here.reach(source), count * here.zero(source)
    first: list[int] = []
    for axis in reversed(axes(op)):
        if prod(source.shape[i] for i in (axis, *first)) * reach <= EXACT:
            first.append(axis)
    sums = here.centered(source)
    if first:
        sums = here.add("SUM", sums, here.constant(first, "int32"), keep_dims=True)
    whole = here.add("SUM", here.add("CAST", sums, dtype="int32"), op.operand(1), **_kept(op))
    return here.add("CAST", here.add("ADD", whole, here.constant(zeros, "int32")), dtype="float32")


def _sum_of_int16(here: Lowering, count: int) -> Tensor:
    """Rounded to float32, times one float32 factor, ties away from zero."""
    source, result = here.op.operand(0), here.op.output
    sums, scale = _wide_sum(here, count), float(here.scale(source) / here.scale(result))
    return here.rounded("tflgpu.rescale", sums, zero=0.0, scale=scale, shift=0.0)


def _mean_of_int16(here: Lowering, count: int) -> Tensor:
    """As LiteRT's own kernels: times a factor that is divided by the count, as an integer."""
    op = here.op
    here.require_exact(count * BYTE)
    scales = [np.float64(here.scale(tensor)) for tensor in (op.operand(0), op.output)]
    factor = here.fixed_point(scales[0] / scales[1])
    shift = min(count.bit_length() - 1, 31 + factor.exponent)
    divided = FixedPoint((factor.multiplier << shift) // count, factor.exponent - shift)
    sums = [
        here.add("SUM", part, op.operand(1), **_kept(op))
        for part in bytes_of(here, here.centered(op.operand(0)))
    ]
    name, operands = "tflgpu.requantize_channels_rounded_twice", as_operands(here, [divided])
    value = here.rounded(name, *sums, *operands, bounds=INTEGERS["int16"])
    return here.reshape(value, op.output.shape)


@lowers("REDUCE_PROD")
def product(here: Lowering) -> Tensor:
    """Scaled after each factor, so that the last factor gives the result's scale."""
    op = here.op
    source, result, reduced = op.operand(0), op.output, axes(op)
    count = prod(source.shape[axis] for axis in reduced)
    if not reduced or not count:
        raise here.declined("it reduces no elements")
    kept = [axis for axis in range(len(source.shape)) if axis not in reduced]
    rows = here.transpose(here.centered(source), (*kept, *reduced))
    scales = [np.float64(here.scale(tensor)) for tensor in (source, result)]
    multiplier, shift = fifteen_bits(here, float(scales[0] / scales[1] ** (1.0 / count)))
    low, high = here.bounds(result)
    value = here.add(
        "tflgpu.product_of_integers",
        here.reshape(rows, (-1, count)),
        multiplier=multiplier,
        shift=shift,
        low=low,
        high=high,
    )
    return here.reshape(value, result.shape)


@lowers("REDUCE_MAX", "REDUCE_MIN")
def extreme(here: Lowering) -> Tensor:
    """Of the stored integers; LiteRT disregards their scales. Of none, what no other passes."""
    op = here.op
    source = op.operand(0)
    if not source.elements:
        limit = INTEGERS[source.dtype][op.name == "REDUCE_MIN"] - here.zero(op.output)
        return here.constant(np.full(op.output.shape, limit))
    value = here.add(op.name, here.centered(source), op.operand(1), **op.attrs)
    return here.reinterpreted(value, source, op.output)


@lowers("ARG_MAX", "ARG_MIN")
def place(here: Lowering) -> Tensor:
    """Integers are in the same order as the real numbers they stand for."""
    op = here.op
    values = here.centered(op.operand(0))
    return here.several(op.name, (values, *op.inputs[1:]), [op.output.dtype], **op.attrs)[0]
