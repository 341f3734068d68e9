"""CUMSUM: running sums along an axis, from either end, inclusive or exclusive."""

from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid
from ..base.row_slices import no_long_rows
from ..base.shapes import same_as_first, second_operand_axis
from ..base.storage import FLOATS, INTEGERS


def _build(op: Op, target: Target) -> Launch:
    shape, axis = op.output.shape, second_operand_axis(op)
    return Launch.of(
        op,
        "reduce/cumsum.jinja",
        linear_grid(op.output.elements // max(shape[axis], 1)),
        variables={
            "size": shape[axis],
            "inner": prod(shape[axis + 1 :]),
            "lines": (*shape[:axis], *shape[axis + 1 :]),
            "exclusive": bool(op.attrs.get("exclusive", False)),
            "reverse": bool(op.attrs.get("reverse", False)),
        },
        flops=op.output.elements,
    )


def _across_rows(op: Op, target: Target) -> str | None:
    """Neighbouring sums of neighbouring columns are computed in slices."""
    if second_operand_axis(op) == len(op.output.shape) - 1:
        return "it adds up along the last axis"
    return no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _columns(op: Op, target: Target) -> Launch:
    """A slice of each row is one line of slices; the last one begins early enough to fit."""
    launch, shape = _build(op, target), op.output.shape
    lines = (*launch.variables["lines"][:-1], -(-shape[-1] // target.lanes))
    variables = {**launch.variables, "lines": lines, "columns": shape[-1]}
    grid = linear_grid(prod(lines))
    return replace(launch, template="reduce/cumsum_columns.jinja", grid=grid, variables=variables)


def _reference(op: Op, x: Array, *_: Array) -> Array:
    axis = second_operand_axis(op)
    values = np.flip(x, axis) if op.attrs.get("reverse") else x
    sums = np.cumsum(values, axis, values.dtype)
    if op.attrs.get("exclusive"):
        sums = sums - values
    return np.flip(sums, axis) if op.attrs.get("reverse") else sums


_KERNELS = (row_major("cumsum_columns", _columns, _across_rows), row_major("cumsum", _build))

define("CUMSUM x:U axis:integer -> y:U", same_as_first, _KERNELS, _reference, (*FLOATS, *INTEGERS))
