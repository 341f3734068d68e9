"""GATHER, GATHER_ND, SCATTER_ND and ONE_HOT: accesses at indices computed while the model runs.

Of whole rows, processors gather a slice at a time.

LiteRT reports an error for an index that is out of bounds. A kernel cannot, and must not access
memory out of bounds, so it clamps the index, or leaves out the update. Launches state the limits of
their indices, which the runtime checks on request.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid, linear_launch
from ..base.row_slices import no_long_rows
from ..base.shapes import normalize_axis
from ..base.storage import ANY, slice_count
from ..base.traits import Traits, among_operands


def _axes(op: Op) -> tuple[int, int]:
    """The axis to gather along, and the number of batch axes before it (ModelError)."""
    shape, indices = op.operand(0).shape, op.operand(1).shape
    axis = normalize_axis(op, int(op.attrs.get("axis", 0)), len(shape))
    batches = int(op.attrs.get("batch_dims", 0))
    batches += len(indices) if batches < 0 else 0
    if not 0 <= batches <= min(axis, len(indices)) or shape[:batches] != indices[:batches]:
        raise op.invalid(
            f"{list(shape)} and indices {list(indices)} do not have {batches} batch axes in common "
            f"before axis {axis}"
        )
    return axis, batches


def _infer_gather(op: Op) -> list[Shape]:
    axis, batches = _axes(op)
    shape, indices = op.operand(0).shape, op.operand(1).shape
    return [(*shape[:axis], *indices[batches:], *shape[axis + 1 :])]


def _gather(op: Op, target: Target) -> Launch:
    axis, batches = _axes(op)
    shape, indices = op.operand(0).shape, op.operand(1).shape
    variables = {
        "batches": prod(shape[:batches]),
        "outer": prod(shape[batches:axis]),
        "size": shape[axis],
        "inner": prod(shape[axis + 1 :]),
        "count": prod(indices[batches:]),
        "columns": 1,
    }
    limits = (int(op.attrs.get("limit", shape[axis])),)
    return _launch(op, "move/gather.jinja", {"x": 0, "indices": 1}, variables, limits)


def _of_rows(op: Op, target: Target) -> str | None:
    axis, _ = _axes(op)
    return _whole_rows(op, target, axis + 1)


def _reference_gather(op: Op, table: Array, indices: Array) -> Array:
    axis, batches = _axes(op)
    check_indices(op, indices, table.shape[axis])
    if not batches:
        return np.take(table, indices, axis)
    outer = table.shape[:batches]
    rows = [np.take(table[place], indices[place], axis - batches) for place in np.ndindex(outer)]
    return np.stack(rows)


def _depth(op: Op, shape: Shape, indices: Tensor) -> int:
    """The number of leading axes that each index addresses (ModelError)."""
    depth = indices.shape[-1] if indices.shape else len(shape) + 1
    if depth > len(shape):
        raise op.invalid(f"indices {list(indices.shape)} address more axes than {list(shape)} has")
    return depth


def _infer_gather_nd(op: Op) -> list[Shape]:
    shape, indices = op.operand(0).shape, op.operand(1)
    return [(*indices.shape[:-1], *shape[_depth(op, shape, indices) :])]


def _gather_nd(op: Op, target: Target) -> Launch:
    shape = op.operand(0).shape
    depth = _depth(op, shape, op.operand(1))
    variables = {"sizes": shape[:depth], "inner": prod(shape[depth:]), "columns": 1}
    limits = shape[:depth]
    return _launch(op, "move/gather_nd.jinja", {"x": 0, "indices": 1}, variables, limits)


def _nd_of_rows(op: Op, target: Target) -> str | None:
    return _whole_rows(op, target, op.operand(1).shape[-1])


def _reference_gather_nd(op: Op, table: Array, indices: Array) -> Array:
    check_indices(op, indices, table.shape[: indices.shape[-1]])
    places = tuple(np.moveaxis(indices, -1, 0))
    return np.asarray(table[places])


def _infer_scatter_nd(op: Op) -> list[Shape]:
    """The shape in operand 2; ModelError unless there is one update per index."""
    shape = tuple(op.integers(2))
    indices, updates = op.operand(0), op.operand(1)
    wanted = (*indices.shape[:-1], *shape[_depth(op, shape, indices) :])
    if updates.shape != wanted:
        raise op.invalid(
            f"updates have the shape {list(updates.shape)}, which should be {list(wanted)}"
        )
    return [shape]


def _scatter_nd(op: Op, target: Target) -> Launch:
    depth = _depth(op, op.output.shape, op.operand(0))
    variables = {
        "sizes": op.output.shape[:depth],
        "inner": prod(op.output.shape[depth:]),
        "count": prod(op.operand(0).shape[:-1]),
    }
    limits = op.output.shape[:depth]
    return _launch(op, "move/scatter_nd.jinja", {"indices": 0, "x": 1}, variables, limits)


def _reference_scatter_nd(op: Op, indices: Array, updates: Array, *_: Array) -> Array:
    check_indices(op, indices, op.output.shape[: indices.shape[-1]])
    result = np.zeros(op.output.shape, updates.dtype)
    np.add.at(result, tuple(np.moveaxis(indices, -1, 0)), updates)
    return result


def _one_hot_axis(op: Op) -> int:
    return normalize_axis(op, int(op.attrs.get("axis", -1)), len(op.operand(0).shape) + 1)


def _infer_one_hot(op: Op) -> list[Shape]:
    shape, axis = op.operand(0).shape, _one_hot_axis(op)
    depth = int(op.number(1))
    if depth < 0 or op.operand(2).elements != 1 or op.operand(3).elements != 1:
        raise op.invalid(f"the depth {depth} is negative, or the on and off values are not scalars")
    return [(*shape[:axis], depth, *shape[axis:])]


def _one_hot(op: Op, target: Target) -> Launch:
    axis = _one_hot_axis(op)
    shape = op.output.shape
    variables = {"axis": axis, "depth": shape[axis], "inner": prod(shape[axis + 1 :])}
    return _launch(op, "move/one_hot.jinja", {"x": 0, "on": 2, "off": 3}, variables)


def _reference_one_hot(op: Op, x: Array, depth: Array, on: Array, off: Array) -> Array:
    axis = _one_hot_axis(op)
    along = [-1 if i == axis else 1 for i in range(x.ndim + 1)]
    hot = np.expand_dims(x, axis) == np.arange(int(depth.reshape(-1)[0])).reshape(along)
    return np.where(hot, on.reshape(()), off.reshape(()))


def check_indices(op: Op, indices: Array, limits: int | Shape) -> None:
    """ModelError if a constant index is out of bounds."""
    wrong = np.argwhere((indices < 0) | (indices >= np.array(limits)))
    if len(wrong):
        index = indices[tuple(wrong[0])]
        raise op.invalid(f"the index {index} at {wrong[0].tolist()} is out of bounds")


def _launch(
    op: Op,
    template: str,
    roles: dict[str, int],
    variables: Mapping[str, object],
    limits: Shape = (),
) -> Launch:
    """A launch over the output; `limits` are those of the role `indices`, if there is one."""
    reads = {role: op.operand(position) for role, position in roles.items()}
    limited = {"indices": limits} if limits else {}
    return linear_launch(op, template, reads=reads, variables=variables, limits=limited)


def _whole_rows(op: Op, target: Target, depth: int) -> str | None:
    """Why entries, of the axes from `depth` on, are not rows that are taken in slices."""
    if depth == len(op.operand(0).shape):
        return "entries are single elements"
    return no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _by_rows(build: Callable[[Op, Target], Launch]) -> Callable[[Op, Target], Launch]:
    """The launch of a gather that takes a slice of a row a work-item."""

    def launch(op: Op, target: Target) -> Launch:
        elements, columns = build(op, target), op.output.shape[-1]
        rows, parts = op.output.elements // columns, slice_count(columns, target)
        variables = {
            **elements.variables,
            "inner": elements.variables["inner"] // columns,
            **{"rows": rows, "parts": parts, "columns": columns},
        }
        return replace(elements, grid=linear_grid(rows * parts), variables=variables)

    return launch


_INDEXED = Traits(moves=True, indexes=True)
_READ = replace(_INDEXED, range=among_operands)
_CLAMPED = (
    "indices out of bounds become the nearest valid ones, where LiteRT reports an error, as "
    "`run(check=True)` does"
)

define(
    "GATHER x:T indices:int16|int32|int64 -> y:T",
    _infer_gather,
    (row_major("gather_rows", _by_rows(_gather), _of_rows), row_major("gather", _gather)),
    _reference_gather,
    ANY,
    note=_CLAMPED,
    versions=8,
    traits=_READ,
)
define(
    "GATHER_ND x:T indices:int16|int32|int64 -> y:T",
    _infer_gather_nd,
    (
        row_major("gather_nd_rows", _by_rows(_gather_nd), _nd_of_rows),
        row_major("gather_nd", _gather_nd),
    ),
    _reference_gather_nd,
    ANY,
    _CLAMPED,
    versions=6,
    traits=_READ,
)
define(
    "ONE_HOT indices:integer depth:integer on:T off:T -> y:T",
    _infer_one_hot,
    (row_major("one_hot", _one_hot),),
    _reference_one_hot,
    ANY,
)
define(
    "SCATTER_ND indices:integer updates:T shape:integer -> y:T",
    _infer_scatter_nd,
    (row_major("scatter_nd", _scatter_nd),),
    _reference_scatter_nd,
    ANY,
    note="the output's shape must be a constant; updates out of bounds are left out, where "
    "LiteRT reports an error, as `run(check=True)` does",
    traits=_INDEXED,
)
