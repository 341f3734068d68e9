"""Products of quantized matrices, of which both may be computed.

BATCH_MATMUL, and FULLY_CONNECTED with weights that the model computes: a product of the rows of
both operands. LiteRT leaves it to its own kernels, and so it does with weights of int16.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...ir import Array, Tensor
from ...ops.matmul.batch_matmul import matrices
from .hybrid import hybrid_product
from .int16_sums import BYTE, bytes_of, digits, rounded_once, rounded_once_in_full, rounded_twice
from .lowering import EXACT, INT32, INTEGERS, Lowering, lowers

Product = Callable[[Tensor, Tensor], Tensor]  # The sums of products of two matrices of floats.


@lowers("BATCH_MATMUL")
def batch_matmul(here: Lowering) -> Tensor:
    """Exact sums of products, scaled once; XNNPACK takes int8 whose second zero point is 0."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    if first.dtype not in INTEGERS:
        return hybrid_product(here)
    if result.dtype not in INTEGERS:
        raise here.declined(f"its result is {result.dtype}")
    _, count, _ = matrices(here.op)
    product = np.float32(here.scale(first) * here.scale(second))
    if first.dtype == "int16":
        factor = np.float64(product) / np.float64(here.scale(result))
        sums = _sums_of_int16(here, first, second, count)
        return rounded_once(here, sums, np.asarray(factor))
    most = here.reach(first) * here.reach(second)
    operands = here.centered(first), here.centered(second)
    exact = count * most <= EXACT
    products = (_product if exact else partial(_whole_product, most=most))(here, *operands)
    if here.zero(second) == 0:
        total = products if exact else here.add("CAST", products, dtype="float32")
        scale = here.constant(product / here.scale(result))
        return here.rounded("tflgpu.requantize", total, scale)
    number = here.fixed_point(np.float64(product) / np.float64(here.scale(result)))
    if exact:
        return here.rounded("tflgpu.requantize_rounded_twice", products, factor=number)
    parts = digits(here, here.constant(0, "int32"), products)
    return here.rounded("tflgpu.requantize_wide_rounded_twice", *parts, factor=number)


def _product(here: Lowering, first: Tensor, second: Tensor) -> Tensor:
    attrs: dict[str, Any] = {
        key: here.op.attrs[key] for key in ("adj_x", "adj_y") if key in here.op.attrs
    }
    return here.add("BATCH_MATMUL", first, second, **attrs)


def _sums_of_int16(here: Lowering, first: Tensor, second: Tensor, count: int) -> Sequence[Tensor]:
    """The sums by what they are worth; those that float32 may not hold are added as int32."""
    reach = _reach_of_parts(here, second, count)
    if reach <= EXACT:
        return sums_of_parts(here, first, second, partial(_product, here))
    if reach > INT32:
        raise here.declined(f"sums of {count} products of bytes may not fit in 32 bits")
    multiply = partial(_whole_product, here, most=_reach_of_parts(here, second, 1))
    *highest, high, low = sums_of_parts(here, first, second, multiply, "ADD")
    return digits(here, high, low, *highest)


def _whole_product(here: Lowering, first: Tensor, second: Tensor, most: int) -> Tensor:
    """The sums of products of up to `most`, as int32, which wrap: those of parts are exact."""
    axes = (
        len(first.shape) - (2 if here.op.attrs.get("adj_x") else 1),
        len(second.shape) - (1 if here.op.attrs.get("adj_y") else 2),
    )
    count = first.shape[axes[0]]

    def part(matrix: Tensor, axis: int, start: int) -> Tensor:
        begin, size = [0] * len(matrix.shape), [*matrix.shape]
        begin[axis], size[axis] = start, min(EXACT // most, count - start)
        return here.slice(matrix, begin, size)

    total = here.constant(0, "int32")
    for start in range(0, count, EXACT // most):
        sums = _product(here, part(first, axes[0], start), part(second, axes[1], start))
        total = here.add("ADD", here.add("CAST", sums, dtype="int32"), total)
    return total


def _reach_of_parts(here: Lowering, second: Tensor, count: int) -> int:
    """The greatest sum of `count` products of bytes of int16; of two products beside int16."""
    return count * BYTE * (2 * BYTE if second.dtype == "int16" else here.reach(second))


def sums_of_parts(
    here: Lowering, first: Tensor, second: Tensor, product: Product, add: str = "tflgpu.add_exact"
) -> list[Tensor]:
    """Sums of products of bytes, by what they are worth: 65536, 256 and 1, or 256 and 1."""
    high, low = bytes_of(here, here.centered(first))
    if second.dtype != "int16":
        whole = here.centered(second)
        return [product(high, whole), product(low, whole)]
    other_high, other_low = bytes_of(here, here.centered(second))
    middle = here.add(add, product(high, other_low), product(low, other_high))
    return [product(high, other_high), middle, product(low, other_low)]


def product_of_rows(here: Lowering) -> Tensor:
    """The sums of products of integers, plus a constant bias, scaled."""
    op = here.op
    first, second, result = op.operand(0), op.operand(1), op.output
    count = second.shape[1]
    second_scale = here.scales(second) if second.constant else here.scale(second)
    bias = op.input(2)
    wide = bias is not None and bias.dtype == "int64"
    asked = op.attrs.get("quantized_bias_type") == "int64"
    in_full = first.dtype == "int16" and second.dtype != "int16" and (wide or asked)
    product = here.scale(first) * second_scale
    if product.ndim or in_full:
        # LiteRT multiplies other scales in float32.
        product = np.float64(here.scale(first)) * second_scale
    factors = np.asarray(np.float64(product) / here.scale(result))

    def multiply(x: Tensor, y: Tensor) -> Tensor:
        rows = here.reshape(x, (-1, count))
        return here.add("BATCH_MATMUL", rows, y, adj_x=False, adj_y=True)

    if first.dtype == "int16":
        here.require_exact(_reach_of_parts(here, second, count))
        sums = sums_of_parts(here, first, second, multiply)
    else:
        here.require_exact(count * here.reach(first) * here.reach(second))
        whole = multiply(here.centered(first), here.centered(second))
        sums = [here.constant(0), whole]
    sums = _with_bias(here, sums, bias)
    if second.dtype == "int16":
        if wide and not asked:
            raise here.declined("its options do not say that its bias has 64 bits")
        value = rounded_once(here, sums, factors)
    elif in_full:
        value = rounded_once_in_full(here, sums, factors)
    else:
        value = rounded_twice(here, sums, factors, 0.0)
    return here.reshape(value, result.shape)


def _with_bias(here: Lowering, sums: list[Tensor], bias: Tensor | None) -> list[Tensor]:
    """A constant bias, in parts like those of the sums, added to each."""
    if bias is None:
        return sums
    if bias.data is None:
        raise here.declined("its bias is computed while the model runs")
    rest: Array = bias.data.astype(np.int64).reshape(-1)
    parts: list[Array] = []
    while len(parts) < len(sums) - 1:
        upper = (rest + 128) >> 8
        parts.insert(0, rest - 256 * upper)
        rest = upper
    here.require_exact(float(np.abs(rest).max(initial=0)))
    added = zip(sums, [rest, *parts], strict=True)
    return [here.add("tflgpu.add_exact", one, here.constant(part)) for one, part in added]
