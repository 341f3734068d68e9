"""Windows of a tensor at places computed by the model: taken, or joined with updates.

tflgpu.take_windows: x, starts [count, depth] -> y [count, *window]
tflgpu.join_windows: x, starts [count, depth], updates [count, *window] -> y like x

A window has as many axes as x. A row of `starts` says where it begins along each axis of the
attribute `axes`; along all others it begins at 0. A window that is taken is moved back where it
would reach past an end; of one that is joined, what would lie past an end is left out. StableHLO's
slices, gathers and scatters are of this form (https://openxla.org/stablehlo/spec), with axes in
another order.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid, linear_launch
from ..base.shapes import same_as_first
from ..base.storage import ANY, FLOATS
from ..base.traits import Traits, among_operands
from ..elementwise.elementwise import ELEMENTWISE, Formula

TAKE = "tflgpu.take_windows"
JOIN = "tflgpu.join_windows"
# x, places, updates -> y like x: `places` say where along the attribute `axis` each of `updates` is
# joined with x. Updates have all other axes in common with x. Places have the shape of the updates,
# or are a vector along the axis.
JOIN_ALONG = "tflgpu.join_along"

# Lines that leave most of a GPU idle, where comparing updates with all elements is faster.
FEW_LINES = 64

# The attribute `join` of updates that replace what is there; others name an operator.
UPDATE = "UPDATE"


def join_of(op: Op) -> Formula:
    """The formula that joins what is there with an update."""
    name = op.attrs["join"]
    if name == UPDATE:
        return lambda f, there, update: update
    return ELEMENTWISE[name].chosen(op.output.dtype not in FLOATS)


def _take(op: Op, target: Target) -> Launch:
    reads = {"x": op.operand(0), "starts": op.operand(1)}
    return _launch(op, "move/take_windows.jinja", reads, op.attrs["window"])


def _join(op: Op, target: Target) -> Launch:
    names = ("x", "starts", "updates")
    reads = {name: op.operand(i) for i, name in enumerate(names)}
    updates = op.operand(2)
    return _launch(
        op,
        "move/join_windows.jinja",
        reads,
        updates.shape[1:],
        join=join_of(op),
        count=updates.shape[0],
    )


def _launch(op: Op, template: str, reads: dict[str, Any], window: Shape, **more: Any) -> Launch:
    columns = {axis: column for column, axis in enumerate(op.attrs["axes"])}
    variables = {"columns": columns, "depth": len(columns), "window": window, "prod": prod, **more}
    return linear_launch(op, template, reads=reads, variables=variables)


def _join_along(op: Op, target: Target) -> Launch:
    x, places, updates = (op.operand(i) for i in range(3))
    shape, axis = x.shape, op.attrs["axis"]
    return Launch.of(
        op,
        "move/join_along.jinja",
        linear_grid(x.elements // shape[axis]),
        reads={"x": x, "places": places, "updates": updates},
        variables={
            "lines": (*shape[:axis], *shape[axis + 1 :]),
            "size": shape[axis],
            "count": updates.shape[axis],
            "common": len(places.shape) < len(shape),
            "inner": prod(shape[axis + 1 :]),
            "join": join_of(op),
        },
    )


def joins_lines(x: Tensor, axis: int, count: int, target: Target) -> bool:
    """Whether work-items that each join a line with `count` updates are enough, and may loop so."""
    lines, longest = x.elements // max(x.shape[axis], 1), x.shape[axis] + count
    busy = target.on_processor or lines >= FEW_LINES
    return busy and longest <= target.device.loop_iterations


def _reference_take(op: Op, x: Array, starts: Array) -> Array:
    window = op.attrs["window"]
    ends = np.array(x.shape) - window
    places = np.zeros((len(starts), x.ndim), np.int64)
    places[:, op.attrs["axes"]] = starts
    taken = [x[_window(np.clip(place, 0, ends), window)] for place in places]
    return np.array(taken).reshape(op.output.shape)


def _window(start: Array, window: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(int(at), int(at) + size) for at, size in zip(start, window, strict=True))


define(
    TAKE,
    lambda op: [(op.operand(1).shape[0], *op.attrs["window"])],
    (row_major("take_windows", _take),),
    _reference_take,
    ANY,
    traits=Traits(moves=True, range=among_operands),
)
define(JOIN, same_as_first, (row_major("join_windows", _join),), dtypes=ANY)
define(JOIN_ALONG, same_as_first, (row_major("join_along", _join_along, fuses=False),), dtypes=ANY)
