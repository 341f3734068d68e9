"""BATCH_MATMUL: products of quantized matrices, of which both may be computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.batch_matmul import matrices
from .hybrid import hybrid_product
from .int16_sums import BYTE, bytes_of, rounded_once
from .lowering import INTEGERS, Lowering, lowers

Product = Callable[[Tensor, Tensor], Tensor]
"""The sums of products of two matrices of floats."""


@lowers("BATCH_MATMUL")
def batch_matmul(lowering: Lowering) -> None:
    """Exact sums of products, scaled once; XNNPACK takes int8 whose second zero point is 0."""
    first, second, result = lowering.op.operand(0), lowering.op.operand(1), lowering.op.output
    if first.dtype not in INTEGERS:
        hybrid_product(lowering)
        return
    if result.dtype not in INTEGERS:
        raise lowering.declined(f"its result is {result.dtype}")
    _, count, _ = matrices(lowering.op)
    product = np.float32(lowering.scale(first) * lowering.one_scale(second))
    if first.dtype == "int16":
        factor = np.float64(product) / np.float64(lowering.scale(result))
        sums = sums_of_parts(lowering, first, second, partial(_product, lowering), count)
        lowering.finish_centered(rounded_once(lowering, sums, np.asarray(factor)))
        return
    products = _product(lowering, lowering.centered(first), lowering.centered(second))
    lowering.require_exact(count * lowering.reach(first) * lowering.reach(second))
    if lowering.zero(second) == 0:
        scale = lowering.constant(product / lowering.scale(result))
        value = lowering.rounded("tflgpu.requantize", products, scale)
    else:
        number = lowering.fixed_point(np.float64(product) / np.float64(lowering.scale(result)))
        value = lowering.rounded("tflgpu.requantize_rounded_twice", products, factor=number)
    lowering.finish_centered(value)


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
