"""BATCH_MATMUL: matrices times matrices, either transposed, their batches broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape
from .base import LINEAR, Kernel, Launch, OpDef, broadcast, define

COLUMNS = 4
"""Neighbouring columns of the result a work-item computes."""


def matrices(op: Op) -> tuple[int, int, int]:
    """Rows, inner size and columns (ModelError if the operands do not go together)."""
    first, second = op.operand(0).shape, op.operand(1).shape
    if min(len(first), len(second)) < 2:
        raise ModelError(f"operator {op.index} {op.name}: {list(first)} times {list(second)}")
    rows, inner = first[-2:] if not op.attrs.get("adj_x", False) else first[:-3:-1]
    height, columns = second[-2:] if not op.attrs.get("adj_y", False) else second[:-3:-1]
    if inner != height:
        raise ModelError(
            f"operator {op.index} {op.name}: {list(first)} times {list(second)}: {inner} and "
            f"{height} differ"
        )
    return rows, inner, columns


def infer(op: Op) -> list[Shape]:
    rows, _, columns = matrices(op)
    batches = broadcast(op, op.operand(0).shape[:-2], op.operand(1).shape[:-2])
    return [(*batches, rows, columns)]


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    first, second = arrays
    if op.attrs.get("adj_x", False):
        first = first.swapaxes(-1, -2)
    if op.attrs.get("adj_y", False):
        second = second.swapaxes(-1, -2)
    return [np.matmul(first, second)]


def _build(op: Op, profile: Profile) -> Sequence[Launch]:
    rows, inner, columns = matrices(op)
    batches = op.output.shape[:-2]
    return [
        Launch(
            "batch_matmul.jinja",
            (-(-columns // COLUMNS), rows, prod(batches)),
            {"a": op.operand(0), "b": op.operand(1)},
            {"y": op.output},
            variables={
                "rows": rows,
                "inner": inner,
                "columns": columns,
                "batches": batches,
                "tile": COLUMNS,
                "a_turned": bool(op.attrs.get("adj_x", False)),
                "b_turned": bool(op.attrs.get("adj_y", False)),
                "prod": prod,
            },
            heavy=True,
            flops=2 * op.output.elements * inner,
        )
    ]


_KERNELS = (Kernel("batch_matmul", _build, reads=LINEAR, writes=LINEAR),)

define(OpDef("BATCH_MATMUL", infer, _KERNELS, reference))
