"""CONCATENATION: one launch per input copies it to its place in the output; PACK and UNPACK.

`rewrites/decompose/moves.py` turns every PACK into RESHAPEs and a CONCATENATION.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Op, Shape, Tensor
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import rank_fits
from ..base.launch import Launch, linear_grid, sliced_grid
from ..base.row_slices import no_row_slices
from ..base.shapes import normalize_axis
from ..base.storage import ANY, bhwc, lane_of, slice_count
from ..base.traits import Permutable, Traits, among_operands
from ..base.view import row_major_view, sliced_view
from .affine_moves import Axis, Move
from .move import define_move


def concat_axis(op: Op) -> int:
    return normalize_axis(op, int(op.attrs.get("axis", 0)), len(op.operand(0).shape))


def infer(op: Op) -> list[Shape]:
    shapes = [op.operand(i).shape for i in range(len(op.inputs))]
    axis = concat_axis(op)
    for shape in shapes:
        others = (shape[:axis], shape[axis + 1 :])
        if others != (shapes[0][:axis], shapes[0][axis + 1 :]):
            listed = ", ".join(str(list(shape)) for shape in shapes)
            raise op.invalid(f"{listed} differ in more than axis {axis}")
    total = sum(shape[axis] for shape in shapes)
    return [(*shapes[0][:axis], total, *shapes[0][axis + 1 :])]


def placed(op: Op) -> list[tuple[Tensor, int]]:
    """The non-empty inputs, each with its start along the axis."""
    axis, start, result = concat_axis(op), 0, []
    for position in range(len(op.inputs)):
        tensor = op.operand(position)
        if tensor.elements:
            result.append((tensor, start))
        start += tensor.shape[axis]
    return result


def _axis4(op: Op) -> int:
    return concat_axis(op) + 4 - len(op.output.shape)


def _starts(axis: int, start: int, rank: int) -> list[int]:
    """Coordinates that are `start` along the axis and 0 elsewhere."""
    return [start if position == axis else 0 for position in range(rank)]


def _whole_slices(op: Op, target: Target) -> str | None:
    if reason := rank_fits(op, target):
        return reason
    if _axis4(op) == 3 and any(start % target.lanes for _, start in placed(op)):
        return "an input does not start at a slice boundary"
    return None


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    axis = _axis4(op)
    launches = []
    for tensor, start in placed(op):
        shift = [0, 0, 0, 0]
        shift[axis] = start // target.lanes if axis == 3 else start
        launches.append(
            Launch.of(
                op,
                "move/concat.jinja",
                sliced_grid(tensor.shape, target),
                reads={"x": tensor},
                variables={"shift": shift},
                batches=bhwc(tensor.shape)[0],
                view=sliced_view(tensor, op.output, _starts(axis, start, 4), target),
            )
        )
    return launches


def _single_lanes(op: Op, target: Target) -> str | None:
    lane = lane_of(op.output, target)
    if lane.dtype != "float32":
        return f"single lanes cannot be stored as {lane.dtype}"
    if reason := rank_fits(op, target):
        return reason
    return None if _axis4(op) == 3 else "it does not concatenate channels"


def _lanes(op: Op, target: Target) -> Sequence[Launch]:
    """With a work-item for each slice of the output in which an input has lanes."""
    launches = []
    for tensor, start in placed(op):
        *sizes, channels = bhwc(tensor.shape)
        reached = (*sizes, start % target.lanes + channels)
        launches.append(
            Launch.of(
                op,
                "move/concat_lanes.jinja",
                sliced_grid(reached, target),
                reads={"x": tensor},
                variables={"start": start, "last": start + channels == bhwc(op.output.shape)[3]},
                view=sliced_view(tensor, op.output, (0, 0, 0, start), target),
            )
        )
    return launches


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    return [*_copies(op, "move/concat_linear.jinja")]


def _rows(op: Op, target: Target) -> Sequence[Launch]:
    launches = []
    for launch in _copies(op, "move/concat_rows.jinja"):
        *outer, columns = launch.reads["x"].shape
        rows, parts = prod(outer), slice_count(columns, target)
        variables = {**launch.variables, "rows": rows, "parts": parts, "columns": columns}
        launches.append(replace(launch, grid=linear_grid(rows * parts), variables=variables))
    return launches


def _short_rows(op: Op, target: Target) -> str | None:
    """Why rows of an input are shorter than a slice, or are not copied in slices."""
    for tensor, _ in placed(op):
        if tensor.shape[-1] < target.lanes:
            return f"rows of {tensor.shape[-1]} elements do not fill a slice"
        if reason := no_row_slices(op, target, op.epilogue_inputs, tensor):
            return reason
    return None


def _copies(op: Op, template: str) -> Iterator[Launch]:
    """A launch for each row-major input, by elements."""
    axis = concat_axis(op)
    inner = prod(op.output.shape[axis + 1 :])
    for tensor, start in placed(op):
        yield Launch.of(
            op,
            template,
            linear_grid(tensor.elements),
            reads={"x": tensor},
            variables={
                "taken": tensor.shape[axis] * inner,
                "row": op.output.shape[axis] * inner,
                "start": start * inner,
            },
            view=row_major_view(
                tensor, op.output, tensor.shape, _starts(axis, start, len(tensor.shape))
            ),
        )


IMPLEMENTATIONS = (
    Implementation("concat", _sliced, _whole_slices),
    Implementation("concat_lanes", _lanes, _single_lanes, fuses=False),
    row_major("concat_rows", _rows, _short_rows),
    row_major("concat_linear", _linear),
)

define(
    "CONCATENATION x:T+ -> y:T",
    infer,
    IMPLEMENTATIONS,
    lambda op, *arrays: np.concatenate(arrays, concat_axis(op)),
    ANY,
    versions=7,
    traits=Traits(
        identity=lambda op: len(op.inputs) == 1,
        permutable=Permutable(images=None, axis=concat_axis),
        moves=True,
        aliases=True,
        joins=True,
        range=among_operands,
    ),
)


def _infer_pack(op: Op) -> list[Shape]:
    shapes = {op.operand(i).shape for i in range(len(op.inputs))}
    if len(shapes) != 1:
        listed = ", ".join(str(list(shape)) for shape in sorted(shapes))
        raise op.invalid(f"the shapes of its inputs differ: {listed}")
    shape = shapes.pop()
    axis = normalize_axis(op, int(op.attrs.get("axis", 0)), len(shape) + 1)
    return [(*shape[:axis], len(op.inputs), *shape[axis:])]


def _unpack(op: Op) -> list[Move]:
    shape = op.operand(0).shape
    axis = normalize_axis(op, int(op.attrs.get("axis", 0)), len(shape))
    if shape[axis] != len(op.results):
        raise op.invalid(f"{list(shape)} does not split into {len(op.results)} along axis {axis}")
    left = (*shape[:axis], *shape[axis + 1 :])
    kept = [Axis(i if i < axis else i - 1) for i in range(len(shape))]
    return [
        Move(left or (1,), (*kept[:axis], Axis(0, part, 0), *kept[axis + 1 :]))
        for part in range(shape[axis])
    ]


def _infer_unpack(op: Op) -> list[Shape]:
    return [move.shape if len(op.operand(0).shape) > 1 else () for move in _unpack(op)]


define(
    "PACK x:T+ -> y:T",
    _infer_pack,
    reference=lambda op, *arrays: np.stack(arrays, int(op.attrs.get("axis", 0))),
    dtypes=ANY,
    note="becomes RESHAPE and CONCATENATION",
    versions=5,
    traits=Traits(moves=True),
)
define_move("UNPACK x:T -> y:T*", _unpack, _infer_unpack, versions=6)
