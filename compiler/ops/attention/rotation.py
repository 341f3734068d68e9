"""tflgpu.rotate: rotary embeddings, which turn pairs of channels by angles of their row.

    x [..., rows, heads * depth]    cos and sin [rows or 1, depth or depth / 2]    y as x

Channels c and c + depth / 2 of a head are a pair (Su et al., arXiv 2104.09864, as in GPT-NeoX):
y[c] = x[c] cos[c] - x[c + depth / 2] sin[c], and the other is x[c + depth / 2] cos + x[c] sin.
"""

import numpy as np

from ...ir import Array, Op, Tensor
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import rank_fits
from ..base.launch import Launch, linear_grid, sliced_grid
from ..base.shapes import same_as_first

NAME = "tflgpu.rotate"


def _reference(op: Op, x: Array, *tables: Array) -> Array:
    depth = op.attrs["depth"]
    heads = x.reshape(*x.shape[:-1], -1, depth)
    first, second = np.split(heads, 2, axis=-1)
    cos, sin = (np.resize(table.T, (depth, len(table))).T[:, None] for table in tables)
    turned = heads * cos + np.concatenate([-second, first], -1) * sin
    return np.asarray(turned, np.float32).reshape(x.shape)


def _variables(op: Op) -> dict[str, int]:
    rows, columns = op.operand(1).shape
    return {"depth": op.attrs["depth"], "rows": rows, "columns": columns}


def _reads(op: Op) -> dict[str, Tensor]:
    return {name: op.operand(n) for n, name in enumerate(("x", "cosines", "sines"))}


def _build_linear(op: Op, target: Target) -> Launch:
    depth, (*_, rows, inner) = op.attrs["depth"], op.output.shape
    width = 1 if depth // 2 % target.lanes else target.lanes
    count = op.output.elements // (2 * width)
    heads = (op.output.elements // (rows * inner), rows, inner // depth)
    return Launch.of(
        op,
        "elementwise/rotate_linear.jinja",
        linear_grid(count),
        reads=_reads(op),
        variables={**_variables(op), "count": count, "width": width, "shape": heads},
    )


def _build_sliced(op: Op, target: Target) -> Launch:
    return Launch.of(
        op,
        "elementwise/rotate.jinja",
        sliced_grid(op.output.shape, target),
        reads=_reads(op),
        variables=_variables(op),
    )


def _slices(op: Op, target: Target) -> str | None:
    if op.attrs["depth"] // 2 % target.lanes:
        return "halves of heads are not whole slices"
    return rank_fits(op, target)


define(
    NAME,
    same_as_first,
    (Implementation("rotate", _build_sliced, _slices), row_major("rotate_linear", _build_linear)),
    _reference,
)
