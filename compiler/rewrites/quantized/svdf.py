"""SVDF of int8, with a state and time weights of int16, as LiteRT's EvalIntegerSVDF computes it.

f = requantize(features * (x - zero point))         [batch, filters], int16
s = the last `memory` values of f                   [batch, filters, memory], the state
y = requantize(sum over memory and rank of s * time weights + bias)
"""

from collections.abc import Sequence

import numpy as np

from ...ir import Tensor
from ..decompose.recurrent import keep_state, newest_columns
from . import hybrid_recurrent
from .int16_sums import BYTE, bytes_of, digits
from .lowering import EXACT, INTEGERS, Lowering, lowers

MOST = EXACT // (2 * BYTE * BYTE)  # So many sums of two products of bytes are exact as floats.


@lowers("SVDF")
def svdf(here: Lowering) -> Tensor:
    """Sums of products of 16-bit integers, which wrap in 32 bits, are added up as bytes."""
    op = here.op
    source, features, ages, state = (op.operand(i) for i in (0, 1, 2, 4))
    if source.dtype not in INTEGERS:
        return hybrid_recurrent.svdf(here)
    types = [tensor.dtype for tensor in (source, features, ages, state)]
    if types != ["int8", "int8", "int16", "int16"]:
        raise here.declined(
            f"its input, weights of features and of time, and state are {', '.join(types)}; LiteRT "
            f"takes them for int8, int8, int16, int16, and accesses memory beyond them",
            "quantize the model again, with weights of time and a state of int16",
            unsafe=True,
        )
    rank = int(op.attrs.get("rank", 1))
    newest = newest_columns(
        here, _features(here, source, features, state), here.centered(state), ages.shape
    )
    sums = _sums(here, newest, rank)
    name = "tflgpu.requantize_wide_rounded_twice"
    value = _rounded(here, name, sums, (state, ages), op.output)
    keep_state(here, state, here.stored(here.reshape(newest, state.shape), state))
    return value


def _features(here: Lowering, source: Tensor, weights: Tensor, state: Tensor) -> Tensor:
    """The newest column of the state, of shape [batch, filters]."""
    matrix = here.centered(weights)
    if matrix.data is None:
        raise here.declined("its weights are computed while the model runs")
    here.require_exact(
        float(np.abs(matrix.data).sum(1, dtype=np.float64).max()) * here.reach(source)
    )
    sums = here.add("FULLY_CONNECTED", here.centered(source), matrix, None, exact=True)
    return _rounded(here, "tflgpu.requantize_rounded_twice", (sums,), (source, weights), state)


def _rounded(
    here: Lowering,
    name: str,
    sums: Sequence[Tensor],
    factors: tuple[Tensor, Tensor],
    result: Tensor,
) -> Tensor:
    """Sums of products of two factors, as centered integers of the result, by the row `name`."""
    first, second = (here.scale(tensor) for tensor in factors)
    factor = here.fixed_point(np.float32(np.float32(first * second) / here.scale(result)))
    low, high = (bound - here.zero(result) for bound in INTEGERS[result.dtype])
    return here.rounded(name, *sums, bounds=(low, high), factor=factor)


def _sums(here: Lowering, columns: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over memory and rank, plus the bias, in parts worth 65536, 256 and 1."""
    op = here.op
    batch, filters, memory = columns.shape
    units, count = filters // rank, rank * memory
    whole = np.zeros(units, np.int64)
    if op.input(3) is not None:
        whole = op.constant(3).astype(np.int64).reshape(-1)
    upper = (whole + (1 << 15)) >> 16
    ages = here.reshape(here.centered(op.operand(2)), (1, filters, memory))
    (high, low), (old_high, old_low) = bytes_of(here, columns), bytes_of(here, ages)

    def products(first: Tensor, second: Tensor) -> Tensor:
        return here.reshape(here.add("MUL", first, second), (batch, units, count))

    middle = here.add("tflgpu.add_exact", products(high, old_low), products(low, old_high))
    parts = products(high, old_high), middle, products(low, old_low)
    if count <= MOST:
        highest, middle, lowest = (here.reduce("SUM", part, keep_dims=False) for part in parts)
        return (
            here.add("tflgpu.add_exact", highest, here.constant(upper)),
            middle,
            here.add("tflgpu.add_exact", lowest, here.constant(whole - (upper << 16))),
        )
    highest, middle, lowest = (_long_sum(here, part) for part in parts)
    lowest = here.add("ADD", lowest, here.constant(whole, "int32"))
    return digits(here, middle, lowest, highest)


def _long_sum(here: Lowering, products: Tensor) -> Tensor:
    """The sum along the last axis, as int32: those of parts are exact."""
    *others, count = products.shape
    total = here.constant(0, "int32")
    for start in range(0, count, MOST):
        part = here.slice(products, [0, 0, start], [*others, min(MOST, count - start)])
        sums = here.add("CAST", here.reduce("SUM", part, keep_dims=False), dtype="int32")
        total = here.add("ADD", sums, total)
    return total
