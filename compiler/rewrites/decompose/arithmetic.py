"""Sums, conversions, comparisons, norms and selections become simpler operators."""

from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.elementwise.logic import DIRECTIONS, direction, in_total_order
from .decomposition import Decomposition, decomposes

SMALL = frozenset(("int8", "int16", "uint8"))


@decomposes("ADD_N")
def add_n(here: Decomposition) -> Tensor:
    """ADDs of one input after another."""
    total = here.op.operand(0)
    for position in range(1, len(here.op.inputs)):
        total = here.add("ADD", total, here.op.operand(position))
    return total


@decomposes("DEQUANTIZE")
def convert_halves(here: Decomposition) -> Tensor | str:
    """Numbers in half precision are not quantized, and a CAST converts them."""
    if here.op.operand(0).dtype != "float16":
        return "it computes with integers"
    return here.add("CAST", here.op.operand(0), dtype=here.op.output.dtype)


@decomposes("SELECT")
def select_rows(here: Decomposition) -> Tensor | str:
    """A condition with one entry per row is reshaped to broadcast over the rows."""
    condition, chosen = here.op.operand(0), here.op.operand(1)
    if len(condition.shape) != 1 or len(chosen.shape) < 2:
        return "the condition already broadcasts"
    column = (*condition.shape, *(1,) * (len(chosen.shape) - 1))
    rows = here.reshape(condition, column)
    dtype = here.op.output.dtype
    return here.add("SELECT_V2", rows, chosen, here.op.operand(2), dtype=dtype)


@decomposes("FILL")
def fill(here: Decomposition) -> Tensor:
    """The computed value is broadcast."""
    value = here.reshape(here.op.operand(1), ())
    return here.add("BROADCAST_TO", value, here.op.operand(0))


@decomposes("EMBEDDING_LOOKUP")
def embedding_lookup(here: Decomposition) -> Tensor:
    """A GATHER along the table's first axis."""
    ids, table, rows = here.op.operand(0), here.op.operand(1), here.op.output
    if rows.dtype != table.dtype:
        raise here.op.invalid(f"its result is {rows.dtype}, but its table is {table.dtype}")
    return here.add("GATHER", table, ids, axis=0, batch_dims=0)


@decomposes("L2_NORMALIZATION")
def l2_normalization(here: Decomposition) -> Tensor:
    """Each vector along the last axis is divided by its length."""
    x = here.op.operand(0)
    squares = here.reduce("SUM", here.add("SQUARE", x))
    # Only a NaN of the second operand propagates.
    length = here.add("MAXIMUM", here.constant(1e-6), here.add("SQRT", squares))
    return here.add("DIV", x, length)


@decomposes("LOG_SOFTMAX")
def log_softmax(here: Decomposition) -> Tensor:
    """x - max - log(sum(exp(x - max))), which neither overflows nor cancels."""
    x = here.op.operand(0)
    shifted = here.add("SUB", x, here.reduce("REDUCE_MAX", x))
    total = here.reduce("SUM", here.add("EXP", shifted))
    return here.add("SUB", shifted, here.add("LOG", total))


@decomposes("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(here: Decomposition) -> Tensor:
    """x * (bias + alpha * sum of the squares of nearby channels) ^ -beta.

    The sum is a 1x1 convolution whose weights are a band matrix.
    """
    x, attrs = here.op.operand(0), here.op.attrs
    if len(x.shape) != 4:
        raise here.op.invalid(f"input {list(x.shape)} must have rank 4")
    channels = np.arange(x.shape[3])
    near = np.abs(channels[:, None] - channels) <= int(attrs.get("radius", 0))
    weights = here.constant(near[:, None, None, :] * np.float32(attrs.get("alpha", 0.0)))
    bias = here.constant(np.full(len(channels), attrs.get("bias", 0.0)))
    window: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    sums = here.add("CONV_2D", here.add("SQUARE", x), weights, bias, **window)
    power = here.add("POW", sums, here.constant(-float(attrs.get("beta", 0.0))))
    return here.add("MUL", x, power)


@decomposes("L2_POOL_2D")
def l2_pool(here: Decomposition) -> Tensor:
    """The root of the average of the squares in each window."""
    squares = here.add("SQUARE", here.op.operand(0))
    means = here.add("AVERAGE_POOL_2D", squares, **here.op.attrs)
    return here.add("SQRT", means)


@decomposes("STABLEHLO_COMPARE")
def compare(here: Decomposition) -> Tensor | str:
    """In total order, a comparison would have to look at the bits of zeros and NaN."""
    if in_total_order(here.op):
        return "it compares in total order"
    name = DIRECTIONS[direction(here.op)][0]
    return here.add(name, here.op.operand(0), here.op.operand(1), dtype="bool")


@decomposes("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
def compare_small_integers(here: Decomposition) -> Tensor | str:
    """Plain integers, not quantized ones; LiteRT crashes on those of 8 bits."""
    operands = [here.op.operand(position) for position in (0, 1)]
    types = {operand.dtype for operand in operands}
    if not types <= SMALL or any(operand.quantization for operand in operands):
        return "its operands are no plain integers of 8 or 16 bits"
    if "int16" in types and here.op.name == "NOT_EQUAL":
        return "LiteRT multiplies integers of 16 bits by a scale, which these lack"
    wide = [here.add("CAST", operand, dtype="int32") for operand in operands]
    return here.add(here.op.name, *wide, dtype="bool")


@decomposes("FlexErf")
def error_function(here: Decomposition) -> Tensor:
    return here.add("tflgpu.erf", here.op.operand(0))


@decomposes("FAKE_QUANT")
def fake_quant(here: Decomposition) -> Tensor:
    """The range is moved so that 0 is one of the numbers; all in float32, as in LiteRT."""
    attrs = here.op.attrs
    least, most = (np.float32(attrs.get(name, 0.0)) for name in ("min", "max"))
    last = np.float32(2 ** int(attrs.get("num_bits", 0)) - 1)
    if not least <= 0 <= most or least == most or last < 1 or attrs.get("narrow_range", False):
        reason = "its range is narrow, or not one of numbers around 0"
        raise here.op.invalid(f"{reason}: {least} to {most}")
    scale = (most - least) / last
    zero = np.clip(np.floor(-least / scale + np.float32(0.5)), 0, last)
    options: dict[str, Any] = {
        "least": float(-zero * scale),
        "most": float((last - zero) * scale),
        "scale": float(scale),
        "inverse": float(np.float32(1) / scale),
    }
    return here.add("tflgpu.fake_quant", here.op.operand(0), **options)
