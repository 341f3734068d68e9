"""Products of quantized matrices, of which both may be computed.

BATCH_MATMUL, and FULLY_CONNECTED with weights that the model computes: a product of the rows of
both operands. LiteRT leaves it to its own kernels, and so it does with weights of int16.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...ir import Array, Tensor
from ...ops.batch_matmul import matrices
from .hybrid import hybrid_product
from .int16_sums import BYTE, bytes_of, rounded_once, rounded_once_in_full, rounded_twice
from .lowering import INTEGERS, Lowering, lowers

Product = Callable[[Tensor, Tensor], Tensor]
"""The sums of products of two matrices of floats."""


@lowers("BATCH_MATMUL")
def batch_matmul(lowering: Lowering) -> Tensor:
    """Exact sums of products, scaled once; XNNPACK takes int8 whose second zero point is 0."""
    first, second, result = lowering.op.operand(0), lowering.op.operand(1), lowering.op.output
    if first.dtype not in INTEGERS:
        return hybrid_product(lowering)
    if result.dtype not in INTEGERS:
        raise lowering.declined(f"its result is {result.dtype}")
    _, count, _ = matrices(lowering.op)
    product = np.float32(lowering.one_scale(first) * lowering.one_scale(second))
    if first.dtype == "int16":
        factor = np.float64(product) / np.float64(lowering.scale(result))
        sums = sums_of_parts(lowering, first, second, partial(_product, lowering), count)
        return rounded_once(lowering, sums, np.asarray(factor))
    products = _product(lowering, lowering.centered(first), lowering.centered(second))
    lowering.require_exact(count * lowering.reach(first) * lowering.reach(second))
    if lowering.zero(second) == 0:
        scale = lowering.constant(product / lowering.scale(result))
        value = lowering.rounded("tflgpu.requantize", products, scale)
    else:
        number = lowering.fixed_point(np.float64(product) / np.float64(lowering.scale(result)))
        value = lowering.rounded("tflgpu.requantize_rounded_twice", products, factor=number)
    return value


def _product(lowering: Lowering, first: Tensor, second: Tensor) -> Tensor:
    attrs: dict[str, Any] = {
        key: lowering.op.attrs[key] for key in ("adj_x", "adj_y") if key in lowering.op.attrs
    }
    return lowering.add("BATCH_MATMUL", first, second, **attrs)


def sums_of_parts(
    lowering: Lowering, first: Tensor, second: Tensor, product: Product, count: int
) -> list[Tensor]:
    """Sums of `count` products of bytes, by what they are worth: 65536, 256 and 1, or 256 and 1."""
    high, low = bytes_of(lowering, lowering.centered(first))
    if second.dtype != "int16":
        lowering.require_exact(count * BYTE * lowering.reach(second))
        whole = lowering.centered(second)
        return [product(high, whole), product(low, whole)]
    lowering.require_exact(count * 2 * BYTE * BYTE)
    other_high, other_low = bytes_of(lowering, lowering.centered(second))
    middle = [product(high, other_low), product(low, other_high)]
    return [
        product(high, other_high),
        lowering.add("tflgpu.add_exact", *middle),
        product(low, other_low),
    ]


def product_of_rows(lowering: Lowering) -> Tensor:
    """The sums of products of integers, plus a constant bias, scaled."""
    op = lowering.op
    first, second, result = op.operand(0), op.operand(1), op.output
    count = second.shape[1]
    second_scale = lowering.scale(second) if second.constant else lowering.one_scale(second)
    product = lowering.one_scale(first) * second_scale
    if product.ndim:
        # LiteRT multiplies single scales in float32, those of channels in float64.
        product = np.float64(lowering.one_scale(first)) * second_scale
    factors = np.asarray(np.float64(product) / lowering.scale(result))

    def multiply(x: Tensor, y: Tensor) -> Tensor:
        rows = lowering.reshape(x, (-1, count))
        return lowering.add("BATCH_MATMUL", rows, y, adj_x=False, adj_y=True)

    if first.dtype == "int16":
        sums = sums_of_parts(lowering, first, second, multiply, count)
    else:
        lowering.require_exact(count * lowering.reach(first) * lowering.reach(second))
        whole = multiply(lowering.centered(first), lowering.centered(second))
        sums = [lowering.constant(0), whole]
    bias = op.input(2)
    sums = _with_bias(lowering, sums, bias)
    wide = bias is not None and bias.dtype == "int64"
    if second.dtype == "int16":
        if wide and op.attrs.get("quantized_bias_type") != "int64":
            raise lowering.declined("its options do not say that its bias has 64 bits")
        value = rounded_once(lowering, sums, factors)
    elif wide:
        value = rounded_once_in_full(lowering, sums, factors)
    else:
        value = rounded_twice(lowering, sums, factors, 0.0)
    return lowering.reshape(value, result.shape)


def _with_bias(lowering: Lowering, sums: list[Tensor], bias: Tensor | None) -> list[Tensor]:
    """A constant bias, in parts like those of the sums, added to each."""
    if bias is None:
        return sums
    if bias.data is None:
        raise lowering.declined("its bias is computed while the model runs")
    rest: Array = bias.data.astype(np.int64).reshape(-1)
    parts: list[Array] = []
    while len(parts) < len(sums) - 1:
        upper = (rest + 128) >> 8
        parts.insert(0, rest - 256 * upper)
        rest = upper
    lowering.require_exact(float(np.abs(rest).max(initial=0)))
    added = zip(sums, [rest, *parts], strict=True)
    return [lowering.add("tflgpu.add_exact", one, lowering.constant(part)) for one, part in added]
