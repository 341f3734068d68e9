"""Operators that only move integers do the same to centered ones.

Where they join tensors, what is quantized unlike the result is scaled first.
"""

from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.base.operands import operands_of
from ..decompose.decomposition import Results
from .lookups import gather_rows, takes_rows
from .lowering import Lowering, lowers

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
    if op.name == "GATHER" and takes_rows(op):
        return gather_rows(here)
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
