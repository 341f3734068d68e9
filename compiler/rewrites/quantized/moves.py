"""Operators that only move integers do the same to centered ones.

Where they join tensors, what is quantized unlike the result is scaled first.
"""

from math import prod
from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.base import operands_of
from ...ops.centered import FROM_CENTERED
from ..decompose.decomposition import Results
from .lowering import Lowering, lowers

MOVES = (
    *("BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "EXPAND_DIMS", "GATHER", "GATHER_ND"),
    *("MIRROR_PAD", "PAD", "PADV2", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_SEQUENCE"),
    *("REVERSE_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V"),
    *("SQUEEZE", "STRIDED_SLICE"),
    *("TILE", "TRANSPOSE", "UNPACK"),
)
PADS = ("PAD", "SPACE_TO_BATCH_ND")
"""Those that add the zero point of their result."""


@lowers(*MOVES)
def move(lowering: Lowering) -> Results:
    """The stored integers are moved as they are; scales on either side do not matter."""
    op = lowering.op
    if any(tensor.dtype == "int4" for tensor in op.reads):
        return _move_packed(lowering)
    declared = operands_of(op)
    assert declared is not None
    alike = declared.alike(op)  # others say where to, and may be integers of 8 or 16 bits, too
    inputs = [lowering.centered(t) if t is not None and t in alike else t for t in op.inputs]
    moved = next((t for t in alike if t.quantization is not None), alike[0])
    if op.name in PADS and lowering.zero(moved) != lowering.zero(op.output):
        raise lowering.declined("it pads a tensor of one zero point to one of another")
    values = lowering.several(op.name, inputs, ["float32"] * len(op.outputs), **op.attrs)
    results = zip(values, op.outputs, strict=True)
    return [lowering.reinterpreted(value, moved, result) for value, result in results]


def _move_packed(lowering: Lowering) -> Tensor:
    """Rows of a table that GATHER names; other moves of int4 are unknown."""
    op = lowering.op
    rows = op.name == "GATHER" and not (op.attrs.get("axis", 0) or op.attrs.get("batch_dims", 0))
    if not rows or not op.operand(0).constant:
        raise lowering.declined("it moves int4, of which only weights and tables are known")
    return gather_packed(lowering, op.operand(0), op.operand(1))


def gather_packed(lowering: Lowering, table: Tensor, indices: Tensor) -> Tensor:
    """Rows of a table of int4, as int8; LiteRT copies the bytes that hold two integers each."""
    result = lowering.op.output
    check_packed_rows(lowering, table)
    if lowering.zero(table) != lowering.zero(result):
        raise lowering.declined("its operand and its result have unlike zero points")
    moved = lowering.add("GATHER", lowering.centered(table), indices, axis=0, batch_dims=0)
    integers = lowering.add(FROM_CENTERED, moved, dtype="int8", zero_point=lowering.zero(result))
    integers.quantization = result.quantization
    return integers


def check_packed_rows(lowering: Lowering, table: Tensor) -> None:
    """UnsupportedError for a table of int4 whose rows, or their blocks, do not begin with a byte.

    The file packs its numbers without gaps, but LiteRT takes each to begin with a byte, so that
    every second one is read a number too early.
    """
    row, size = prod(table.shape[1:]), table.elements
    for what, count in (("row", row), ("block", table.blocks.size if table.blocks else row)):
        if table.dtype == "int4" and count % 2 and count < size:
            raise lowering.declined(
                f"a {what} of table {table.name} has {count} numbers of int4, and LiteRT "
                f"misplaces {what}s of an odd number",
                f"make its {what}s an even number, or quantize the table to int8",
            )


@lowers("SELECT", "SELECT_V2")
def select(lowering: Lowering) -> Tensor:
    """The stored integers of either operand; their scales do not matter."""
    op = lowering.op
    choices = (
        lowering.reinterpreted(lowering.centered(tensor), tensor, op.output)
        for tensor in (op.operand(1), op.operand(2))
    )
    return lowering.add(op.name, op.operand(0), *choices, dtype="float32", **op.attrs)


@lowers("CONCATENATION", "PACK")
def join(lowering: Lowering) -> Tensor:
    """Each operand in the quantization of the result."""
    op = lowering.op
    operands = [op.operand(position) for position in range(len(op.inputs))]
    return lowering.add(op.name, *(rescaled(lowering, tensor) for tensor in operands), **op.attrs)


def rescaled(lowering: Lowering, tensor: Tensor) -> Tensor:
    """A tensor's centered integers in the quantization of the result, halves away from zero."""
    result = lowering.op.output
    centered = lowering.centered(tensor)
    if not lowering.unlike(tensor, result) or result.dtype == "int16":
        # LiteRT copies int16 as it is.
        return centered
    zero = lowering.zero(tensor)
    scale = lowering.scale(tensor) * (np.float32(1) / lowering.scale(result))
    shift = float(np.float32(-zero) * scale)
    numbers: dict[str, Any] = {"zero": float(zero), "scale": float(scale), "shift": shift}
    return lowering.rounded("tflgpu.rescale", centered, **numbers)
