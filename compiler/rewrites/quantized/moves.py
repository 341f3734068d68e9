"""Operators that only move integers do the same to centered ones.

Where they join tensors, what is quantized unlike the result is scaled first.
"""

from math import prod
from typing import Any

import numpy as np

from ...ir import Op, Tensor
from ...ops.base.operands import operands_of
from ...ops.elementwise.centered import FROM_CENTERED
from ..decompose.decomposition import Results
from .lowering import PACKED, Lowering, lowers

MOVES = (
    *("BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "EXPAND_DIMS", "GATHER", "GATHER_ND"),
    *("MIRROR_PAD", "PAD", "PADV2", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_SEQUENCE"),
    *("REVERSE_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V"),
    *("SQUEEZE", "STRIDED_SLICE"),
    *("TILE", "TRANSPOSE", "UNPACK"),
)
PADS = ("PAD", "SPACE_TO_BATCH_ND")  # Those that add the zero point of their result.


@lowers(*MOVES)
def move(here: Lowering) -> Results:
    """The stored integers are moved as they are; scales on either side do not matter."""
    op = here.op
    if _takes_rows(op):
        return gather_packed(here, op.operand(0), op.operand(1))
    here.require_unpacked(op.reads)
    declared = operands_of(op)
    assert declared is not None
    alike = declared.alike(op)  # others say where to, and may be integers of 8 or 16 bits, too
    inputs = [here.centered(t) if t is not None and t in alike else t for t in op.inputs]
    moved = next((t for t in alike if t.quantization is not None), alike[0])
    if op.name in PADS and here.zero(moved) != here.zero(op.output):
        raise here.declined("it pads a tensor of one zero point to one of another")
    values = here.several(op.name, inputs, ["float32"] * len(op.outputs), **op.attrs)
    results = zip(values, op.outputs, strict=True)
    return [here.reinterpreted(value, moved, result) for value, result in results]


def _takes_rows(op: Op) -> bool:
    """Whether an operator takes rows of a constant table of int4."""
    rows = op.name == "GATHER" and not (op.attrs.get("axis", 0) or op.attrs.get("batch_dims", 0))
    return rows and op.operand(0).dtype == "int4" and op.operand(0).constant


def gather_packed(here: Lowering, table: Tensor, indices: Tensor) -> Tensor:
    """Rows of a table of int4, as int8; LiteRT copies the bytes that hold two integers each."""
    result = here.op.output
    check_packed_rows(here, table)
    if here.zero(table) != here.zero(result):
        raise here.declined("its operand and its result have unlike zero points")
    moved = here.add("GATHER", here.centered(table), indices, axis=0, batch_dims=0)
    integers = here.add(FROM_CENTERED, moved, dtype="int8", zero_point=here.zero(result))
    integers.quantization = result.quantization
    return integers


def check_packed_rows(here: Lowering, table: Tensor) -> None:
    """UnsupportedError for a packed table whose rows, or their blocks, do not begin with a byte.

    The file packs its numbers without gaps, but LiteRT takes each to begin with a byte, so that
    others are read some numbers too early.
    """
    row, size = prod(table.shape[1:]), table.elements
    each = PACKED.get(table.dtype, 1)
    for what, count in (("row", row), ("block", table.blocks.size if table.blocks else row)):
        if count % each and count < size:
            raise here.declined(
                f"a {what} of table {table.name} has {count} numbers of {table.dtype}, and "
                f"LiteRT misplaces {what}s that are no whole bytes",
                f"make its {what}s a multiple of {each}, or quantize the table to int8",
            )


@lowers("SELECT", "SELECT_V2")
def select(here: Lowering) -> Tensor:
    """The stored integers of either operand; their scales do not matter."""
    op = here.op
    choices = (
        here.reinterpreted(here.centered(tensor), tensor, op.output)
        for tensor in (op.operand(1), op.operand(2))
    )
    return here.add(op.name, op.operand(0), *choices, dtype="float32", **op.attrs)


@lowers("CONCATENATION", "PACK")
def join(here: Lowering) -> Tensor:
    """Each operand in the quantization of the result."""
    op = here.op
    operands = [op.operand(position) for position in range(len(op.inputs))]
    return here.add(op.name, *(rescaled(here, tensor) for tensor in operands), **op.attrs)


def rescaled(here: Lowering, tensor: Tensor) -> Tensor:
    """A tensor's centered integers in the quantization of the result, halves away from zero."""
    result = here.op.output
    centered = here.centered(tensor)
    if not here.unlike(tensor, result) or result.dtype == "int16":
        # LiteRT copies int16 as it is.
        return centered
    zero = here.zero(tensor)
    scale = here.scale(tensor) * (np.float32(1) / here.scale(result))
    shift = float(np.float32(-zero) * scale)
    numbers: dict[str, Any] = {"zero": float(zero), "scale": float(scale), "shift": shift}
    return here.rounded("tflgpu.rescale", centered, **numbers)
