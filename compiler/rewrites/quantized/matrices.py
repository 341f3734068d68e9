"""BATCH_MATMUL: products of quantized matrices, of which both may be computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.batch_matmul import matrices
from ...ops.fixed_point import fixed_point
from .hybrid import hybrid_product
from .lowering import EXACT, INTEGERS, Lowering, lowers
from .sixteen_bits import BYTE, bytes_of, rounded_once


@lowers("BATCH_MATMUL")
def batch_matmul(here: Lowering) -> None:
    """Exact sums of products, scaled once; XNNPACK takes int8 whose second zero point is 0."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    if first.dtype not in INTEGERS:
        hybrid_product(here)
        return
    if result.dtype not in INTEGERS:
        raise here.declined(f"its result is {result.dtype}")
    if here.scale(second).ndim:
        raise here.declined(
            "the second operand has a scale for each channel, which LiteRT takes for 0"
        )
    product = np.float32(here.scale(first) * here.scale(second))
    if first.dtype == "int16":
        factor = np.float64(product) / np.float64(here.scale(result))
        sums = _wide_sums(here, first, second)
        here.finish_centered(rounded_once(here, sums, np.asarray(factor)))
        return
    products = _product(here, here.centered(first), here.centered(second))
    _check(here, here.reach(first) * here.reach(second))
    low, high = here.bounds(result)
    if here.zero(second) == 0:
        scale = here.constant(product / here.scale(result))
        value = here.add("tflgpu.requantize", products, scale, low=float(low), high=float(high))
    else:
        multiplier, exponent = fixed_point(
            float(np.float64(product) / np.float64(here.scale(result)))
        )
        value = here.add(
            "tflgpu.requantize_doubly",
            products,
            multiplier=multiplier,
            exponent=exponent,
            low=low,
            high=high,
        )
    here.finish_centered(value)


def _product(here: Lowering, first: Tensor, second: Tensor) -> Tensor:
    attrs: dict[str, Any] = {
        key: here.op.attrs[key] for key in ("adj_x", "adj_y") if key in here.op.attrs
    }
    return here.add("BATCH_MATMUL", first, second, **attrs)


def _check(here: Lowering, most: int) -> None:
    """UnsupportedError if sums of products of at most `most` are not exact in float32."""
    _, count, _ = matrices(here.op)
    if count * most > EXACT:
        raise here.declined(f"sums may reach {count * most}, more than {EXACT}")


def _wide_sums(here: Lowering, first: Tensor, second: Tensor) -> list[Tensor]:
    """Sums of the products of bytes, by what they are worth: 65536 and 256 and 1, or 256 and 1."""
    high, low = bytes_of(here, here.centered(first))
    if second.dtype != "int16":
        _check(here, BYTE * here.reach(second))
        whole = here.centered(second)
        return [_product(here, high, whole), _product(here, low, whole)]
    _check(here, 2 * BYTE * BYTE)
    other_high, other_low = bytes_of(here, here.centered(second))
    middle = [_product(here, high, other_low), _product(here, low, other_high)]
    return [
        _product(here, high, other_high),
        here.add("tflgpu.add_exact", *middle),
        _product(here, low, other_low),
    ]
