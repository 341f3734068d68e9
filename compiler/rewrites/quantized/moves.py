"""Operators that only move integers do the same to centered ones."""

from __future__ import annotations

from .lowering import Lowering, lowers

MOVES = (
    *("BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "EXPAND_DIMS", "GATHER", "GATHER_ND", "MAX_POOL_2D"),
    *("MIRROR_PAD", "PAD", "PADV2", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE"),
    *("SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE"),
    *("TILE", "TRANSPOSE", "UNPACK"),
)


@lowers(*MOVES)
def move(here: Lowering) -> None:
    """Of tensors with the same quantization on both sides."""
    op = here.op
    inputs = [None if tensor is None else here.centered(tensor) for tensor in op.inputs]
    dtypes = ["float32"] * len(op.outputs)
    here.finish_centered(*here.several(op.name, inputs, dtypes, **op.attrs))
