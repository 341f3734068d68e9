"""BATCH_MATMUL: products of matrices, either one transposed, with batches that broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape
from ..target import Target
from .base import LINEAR, Implementation, Launch, OpDef, bhwc, broadcast, define, slice_count
from .elementwise import rank_fits

COLUMNS = 4
"""Adjacent columns of the result that a work-item computes."""

MIN_ROWS = 4
"""Rows from which the second operand is read often enough to be worth converting to slices."""

ROWS = 8
"""Adjacent rows of the result of which a work-item computes one slice each."""


def matrices(op: Op) -> tuple[int, int, int]:
    """Rows, inner size and columns of the product (ModelError if the operands do not match)."""
    first, second = op.operand(0).shape, op.operand(1).shape
    if min(len(first), len(second)) < 2:
        raise ModelError(
            f"operator {op.index} {op.name}: {list(first)} and {list(second)} must have rank 2 or "
            f"more"
        )
    rows, inner = first[-2:] if not op.attrs.get("adj_x", False) else first[:-3:-1]
    height, columns = second[-2:] if not op.attrs.get("adj_y", False) else second[:-3:-1]
    if inner != height:
        raise ModelError(
            f"operator {op.index} {op.name}: cannot multiply {list(first)} by {list(second)}, as "
            f"{inner} and {height} differ"
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


def _build(op: Op, target: Target) -> Sequence[Launch]:
    rows, inner, columns = matrices(op)
    batches = op.output.shape[:-2]
    return [
        Launch(
            "matmul/batch_matmul.jinja",
            (-(-columns // COLUMNS), rows, prod(batches)),
            {"a": op.operand(0), "b": op.operand(1)},
            {"y": op.output},
            variables={
                "rows": rows,
                "inner": inner,
                "columns": columns,
                "batches": batches,
                "tile": COLUMNS,
                "a_transposed": bool(op.attrs.get("adj_x", False)),
                "b_transposed": bool(op.attrs.get("adj_y", False)),
                "prod": prod,
            },
            heavy=True,
            flops=2 * op.output.elements * inner,
        )
    ]


def _rows_of_slices(op: Op, target: Target) -> str | None:
    """The sliced kernel multiplies whole slices of the second operand, whose rows are pixels."""
    if op.attrs.get("adj_x", False) or op.attrs.get("adj_y", False):
        return "an operand is transposed"
    rows, columns = op.output.shape[-2:]
    if rows < MIN_ROWS:
        return f"{rows} rows are too few to convert the second operand to slices"
    if 2 * columns <= target.lanes:
        return f"{columns} columns leave most of a slice empty"
    return rank_fits(op, target)


def _single_elements(op: Op, target: Target) -> str | None:
    """The sliced kernel is several times faster wherever it applies."""
    return "batch_matmul_sliced is faster" if _rows_of_slices(op, target) is None else None


def _build_sliced(op: Op, target: Target) -> Sequence[Launch]:
    rows, inner, columns = matrices(op)
    batch, height, _, _ = bhwc(op.output.shape)
    count = slice_count(columns, target)
    tile = min(ROWS, rows)
    return [
        Launch(
            "matmul/batch_matmul_sliced.jinja",
            (-(-rows // tile), height, batch * count),
            {"a": op.operand(0), "b": op.operand(1)},
            {"y": op.output},
            variables={"tile": tile},
            heavy=True,
            flops=2 * op.output.elements * inner,
        )
    ]


_KERNELS = (
    Implementation("batch_matmul_sliced", _build_sliced, _rows_of_slices),
    Implementation("batch_matmul", _build, _single_elements, reads=LINEAR, writes=LINEAR),
)

define(OpDef("BATCH_MATMUL", infer, _KERNELS, reference, versions=4))
