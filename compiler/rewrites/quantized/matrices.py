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
    if second.dtype == "float32":
        raise here.declined(
            f"its operands are {first.dtype} and {second.dtype}",
            advice="of a product of floats, only the second operand may be quantized",
        )
    here.require_result(first)
    _, count, _ = matrices(here.op)
    product = np.float32(here.scale(first) * here.scale(second))
    if first.dtype == "int16":
        factor = np.float64(product) / np.float64(here.scale(result))
        sums = _sums_of_int16(here, second, count, None)
        return rounded_once(here, sums, np.asarray(factor))
    most = here.reach(first) * here.reach(second)
    exact = count * most <= EXACT
    products = (_product if exact else partial(_whole_product, most=most))(here, *_operands(here))
    if here.zero(second) == 0:
        total = products if exact else here.add("CAST", products, dtype="float32")
        scale = here.constant(product / here.scale(result))
        return here.rounded("tflgpu.requantize", total, scale)
    number = here.fixed_point(np.float64(product) / np.float64(here.scale(result)))
    if exact:
        return here.rounded("tflgpu.requantize_rounded_twice", products, factor=number)
    parts = digits(here, here.constant(0, "int32"), products)
    return here.rounded("tflgpu.requantize_wide_rounded_twice", *parts, factor=number)


def _operands(here: Lowering) -> tuple[Tensor, Tensor]:
    """The centered operands; of FULLY_CONNECTED two matrices, whose rows are multiplied."""
    first, second = here.centered(here.op.operand(0)), here.centered(here.op.operand(1))
    if here.op.name == "FULLY_CONNECTED":
        first = here.reshape(first, (-1, second.shape[1]))
    return first, second


def _adjoints(here: Lowering) -> dict[str, Any]:
    """Which of the `_operands` a product of matrices transposes."""
    if here.op.name == "FULLY_CONNECTED":
        return {"adj_x": False, "adj_y": True}
    return {key: bool(here.op.attrs.get(key, False)) for key in ("adj_x", "adj_y")}


def _product(here: Lowering, first: Tensor, second: Tensor) -> Tensor:
    return here.add("BATCH_MATMUL", first, second, **_adjoints(here))


def _sums_of_int16(
    here: Lowering, second: Tensor, count: int, bias: Array | None
) -> Sequence[Tensor]:
    """The sums by what they are worth; those that float32 may not hold are added as int32."""
    reach = _reach_of_parts(here, second, count)
    if reach <= EXACT:
        return _with_bias(here, _sums_of_parts(here, partial(_product, here)), bias)
    if reach > INT32:
        raise here.declined(f"sums of {count} products of bytes may not fit in 32 bits")
    multiply = partial(_whole_product, here, most=_reach_of_parts(here, second, 1))
    *highest, high, low = _with_bias(here, _sums_of_parts(here, multiply, "ADD"), bias, "ADD")
    return digits(here, high, low, *highest)


def _whole_product(here: Lowering, first: Tensor, second: Tensor, most: int) -> Tensor:
    """The sums of products of up to `most`, as int32, which wrap: those of parts are exact."""
    adjoints = _adjoints(here)
    axes = (
        len(first.shape) - (2 if adjoints["adj_x"] else 1),
        len(second.shape) - (1 if adjoints["adj_y"] else 2),
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


def _sums_of_parts(here: Lowering, product: Product, add: str = "tflgpu.add_exact") -> list[Tensor]:
    """Sums of products of bytes, by what they are worth: 65536, 256 and 1, or 256 and 1."""
    first, second = _operands(here)
    high, low = bytes_of(here, first)
    if here.op.operand(1).dtype != "int16":
        return [product(high, second), product(low, second)]
    other_high, other_low = bytes_of(here, second)
    middle = here.add(add, product(high, other_low), product(low, other_high))
    return [product(high, other_high), middle, product(low, other_low)]


def product_of_rows(here: Lowering, bias: Array | None) -> Tensor:
    """The sums of products of integers, plus a bias, scaled."""
    op = here.op
    first, second, result = op.operand(0), op.operand(1), op.output
    second_scale = here.scales(second) if second.constant else here.scale(second)
    added = op.input(2)
    wide = added is not None and added.dtype == "int64"
    asked = op.attrs.get("quantized_bias_type") == "int64"
    in_full = first.dtype == "int16" and second.dtype != "int16" and (wide or asked)
    product = here.scale(first) * second_scale
    if product.ndim or in_full:
        # LiteRT multiplies other scales in float32.
        product = np.float64(here.scale(first)) * second_scale
    factors = np.asarray(np.float64(product) / here.scale(result))

    if first.dtype == "int16":
        sums = _sums_of_int16(here, second, second.shape[1], bias)
    else:
        sums = _sums_of_bytes(here, first, second, bias)
    if second.dtype == "int16":
        if wide and not asked:
            raise here.declined("its options do not say that its bias has 64 bits")
        value = rounded_once(here, sums, factors)
    elif in_full:
        value = rounded_once_in_full(here, sums, factors)
    else:
        value = rounded_twice(here, sums, factors, 0.0)
    return here.reshape(value, result.shape)


def _sums_of_bytes(
    here: Lowering, first: Tensor, second: Tensor, bias: Array | None
) -> Sequence[Tensor]:
    """The same of 8 bits."""
    most = here.reach(first) * here.reach(second)
    if second.shape[1] * most <= EXACT:
        return _with_bias(here, [here.constant(0), _product(here, *_operands(here))], bias)
    sums = _whole_product(here, *_operands(here), most)
    zero = here.constant(0, "int32")
    return digits(here, *_with_bias(here, [zero, sums], bias, "ADD"))


def _with_bias(
    here: Lowering, sums: list[Tensor], bias: Array | None, add: str = "tflgpu.add_exact"
) -> list[Tensor]:
    """A bias, in parts like those of the sums, added to each."""
    if bias is None:
        return sums
    rest: Array = bias.astype(np.int64)
    parts: list[Array] = []
    while len(parts) < len(sums) - 1:
        upper = (rest + 128) >> 8
        parts.insert(0, rest - 256 * upper)
        rest = upper
    here.require_exact(float(np.abs(rest).max(initial=0)))
    added = zip(sums, [rest, *parts], strict=True)
    return [here.add(add, one, here.constant(part, one.dtype)) for one, part in added]
