"""The table of reductions, which work over any axes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, Reason, define, no_reason, row_major
from ..base.launch import Launch
from ..base.row_slices import no_long_rows, no_row_slices
from ..base.shapes import normalize_axis, with_ones
from ..base.storage import FLOATS, INTEGERS, bhwc, bhwc_axes, kernel_dtype, slice_count
from ..base.traits import Permutable, RangeOf, Traits, among_operands
from ..elementwise.elementwise import Formula
from .lines import (
    LARGEST,
    SMALLEST,
    SUM,
    Fold,
    Lines,
    axes_of_rows,
    group_size,
    merged,
    several,
    slice_group_size,
    too_few_parts,
)


@dataclass(frozen=True)
class Reduction:
    """How a reduction adds up values, and finishes."""

    fold: Fold  # How a value is added to the total.
    function: Callable[..., Array]  # The whole reduction in numpy.
    integer: Formula | None = None  # How an integer is added, if not likewise.
    mean: bool = False  # Whether the result is divided by the number of values.
    dtypes: tuple[str, ...] = (*FLOATS, *INTEGERS)
    versions: int = 1
    # The range of its results where they are whole numbers; None if nothing is known of it.
    range: RangeOf | None = None


def _extreme(function: np.ufunc) -> Callable[..., Array]:
    """The largest or smallest element; without any, the type's limit at the other end."""

    def reduced(x: Array, axis: tuple[int, ...]) -> Array:
        end = -1 if function is np.maximum else 1
        if x.dtype.kind == "f":
            return _extreme_of_floats(function, x, axis, end * np.inf)
        start = np.iinfo(x.dtype).min if end < 0 else np.iinfo(x.dtype).max
        return np.asarray(function.reduce(x, axis, initial=start))

    return reduced


def _extreme_of_floats(function: np.ufunc, x: Array, axis: tuple[int, ...], start: float) -> Array:
    """Begins anew after a NaN, as a loop does that keeps what is larger (or smaller)."""
    kept = [i for i in range(x.ndim) if i not in axis]
    size = prod(x.shape[i] for i in axis)
    rows = x.transpose(*kept, *axis).reshape(*(x.shape[i] for i in kept), size)
    nan = np.isnan(rows)
    passed = np.logical_or.accumulate(nan[..., ::-1], -1)[..., ::-1]
    best = function.reduce(np.where(passed, start, rows), -1, initial=start)
    return np.asarray(np.where(nan[..., -1], np.nan, best) if size else best)


def _mean(x: Array, axis: tuple[int, ...]) -> Array:
    """The mean; NaN of no floats, 0 of no integers."""
    total = np.sum(x, axis)
    if x.size or x.dtype.kind != "f":
        return np.asarray(np.mean(x, axis) if x.size else total)
    return np.full_like(total, np.nan)


REDUCTIONS = {
    "REDUCE_ALL": Reduction(replace(SMALLEST, start=1), np.all, dtypes=("bool",)),
    "REDUCE_ANY": Reduction(replace(LARGEST, start=0), np.any, dtypes=("bool",)),
    "MEAN": Reduction(SUM, _mean, mean=True, versions=3),
    "REDUCE_MAX": Reduction(
        Fold(-np.inf, lambda f, total, v: f.larger(total, v), rolled=True),
        _extreme(np.maximum),
        integer=LARGEST.add,
        versions=3,
        range=among_operands,
    ),
    "REDUCE_MIN": Reduction(
        Fold(np.inf, lambda f, total, v: f.smaller(total, v), rolled=True),
        _extreme(np.minimum),
        integer=SMALLEST.add,
        versions=3,
        range=among_operands,
    ),
    "REDUCE_PROD": Reduction(Fold(1.0, lambda f, total, v: total * v), np.prod, versions=2),
    "SUM": Reduction(SUM, np.sum, versions=2),
}


def axes(op: Op) -> tuple[int, ...]:
    """The reduced axes, counted from the front, in ascending order (ModelError)."""
    rank = len(op.operand(0).shape)
    return tuple(sorted({normalize_axis(op, axis, rank) for axis in op.integers(1)}))


def kept_shape(op: Op) -> Shape:
    """The output's shape with the reduced axes kept at size 1."""
    return with_ones(op.operand(0).shape, axes(op))


def infer(op: Op) -> list[Shape]:
    if op.attrs.get("keep_dims", False):
        return [kept_shape(op)]
    reduced = axes(op)
    return [tuple(s for axis, s in enumerate(op.operand(0).shape) if axis not in reduced)]


def _reference(op: Op, x: Array, *_: Array) -> Array:
    result = REDUCTIONS[op.name].function(x, axis=axes(op))
    return np.asarray(result).astype(x.dtype).reshape(op.output.shape)


def _pixels_only(op: Op, target: Target) -> str | None:
    """The sliced kernel keeps channels, and needs dropped axes not to shift the others."""
    shape = op.operand(0).shape
    if len(shape) > 4:
        return f"rank {len(shape)} is above 4"
    if len(shape) - 1 in axes(op):
        return "it reduces the channels"
    if bhwc(kept_shape(op)) != bhwc(op.output.shape):
        return "dropping the reduced axes shifts the others"
    return None


def nan_by_place(op: Op, target: Target) -> str | None:
    """Why the order of what is reduced matters: the largest element is that behind the last NaN."""
    value = op.operand(0)
    floats = kernel_dtype(value.dtype) != "int32" and value.whole is None
    if floats and REDUCTIONS[op.name].integer and target.nan == "keep":
        return "NaN counts by its place"
    return None


def as_images(op: Op) -> Shape | None:
    """The shape of images that a tensor of floats is if rows and columns are reduced; None if it is
    none, or if there are more results than values in each.
    """
    x = op.operand(0)
    shape, reduced = merged(x.shape, axes(op))
    if x.dtype != "float32" or len(reduced) != 1:
        return None
    (axis,) = reduced
    if axis == len(shape) - 1 or shape[axis] <= op.output.elements:
        return None
    return prod(shape[:axis]), shape[axis], 1, prod(shape[axis + 1 :])


def _all_pixels(op: Op, target: Target) -> str | None:
    """A work-group per slice reduces all rows and columns of one image, and nothing else."""
    reason = nan_by_place(op, target) or _pixels_only(op, target)
    if reason is not None:
        return reason
    batch, height, width, channels = bhwc(op.operand(0).shape)
    if bhwc(op.output.shape)[:3] != (batch, 1, 1):
        return "it does not reduce exactly the pixels of each image"
    return too_few_parts(height * width, batch * slice_count(channels, target), target)


def _rows(op: Op) -> tuple[int, int]:
    """How many results there are, and the elements of each."""
    elements = op.operand(0).elements
    count = prod(op.operand(0).shape[axis] for axis in axes(op))
    return elements // max(count, 1), count


def _long_rows(op: Op, target: Target) -> str | None:
    """A work-group per result reduces what lies in a row, if there are few results, or if a driver
    would end the loops of single work-items.
    """
    reason = nan_by_place(op, target)
    if reason is not None:
        return reason
    shape, reduced = op.operand(0).shape, axes(op)
    last = several(shape, reduced)
    if not last or several(shape, range(last[0], len(shape))) != last:
        return "it does not reduce the last axes"
    results, count = _rows(op)
    if results >= target.device.work_items and count <= target.device.loop_iterations:
        return f"{results} results already keep the device busy"
    return too_few_parts(count, results, target)


def _in_slices(op: Op, target: Target) -> str | None:
    """A work-item reduces what lies in a row slice by slice."""
    if not axes_of_rows(op.operand(0).shape, axes(op), target):
        return "it does not reduce rows of whole slices"
    if not REDUCTIONS[op.name].fold.lanes:
        return "no intrinsic joins the lanes of a slice"
    return nan_by_place(op, target) or no_row_slices(op, target, (), op.operand(0))


def _across_rows(op: Op, target: Target) -> str | None:
    """Neighbouring results of neighbouring columns are computed in slices."""
    shape = op.operand(0).shape
    if not shape or len(shape) - 1 in axes(op) or shape[-1] != op.output.shape[-1]:
        return "it reduces the last axis"
    return no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _alone(reason: Reason, lanes: bool = False) -> Reason:
    """Why no single work-item reduces a line: for another reason, or since its loop is too long.

    What can be seen as images becomes one of these later, which work-items reduce together.
    """

    def found(op: Op, target: Target) -> str | None:
        _, count = _rows(op)
        rounds, limit = count // (target.lanes if lanes else 1), target.device.loop_iterations
        if rounds > limit and not (_all_pixels(op, target) and as_images(op)):
            return f"the driver ends loops after {limit} iterations, and it takes {rounds}"
        return reason(op, target)

    return found


def _quotient(row: Reduction, count: int, integers: bool) -> Formula:
    """The formula of the result, from the total."""
    if not row.mean:
        return lambda f, total: total
    return lambda f, total: total // count if integers else total / float(count)


def _lines(op: Op) -> Lines:
    row, source = REDUCTIONS[op.name], op.operand(0)
    integers = kernel_dtype(source.dtype) == "int32"
    _, count = _rows(op)
    add = row.integer if integers and row.integer else row.fold.add
    variables = {"fold": replace(row.fold, add=add), "finish": _quotient(row, count, integers)}
    return Lines(op, "reduce/reduce.jinja", variables, source.elements)


def _sliced(op: Op, target: Target) -> Launch:
    """Along the reduced ones of (batch, height, width, channels)."""
    return _lines(op).by_slices(target, bhwc_axes(op.operand(0).shape, axes(op)))


def _grouped(op: Op, target: Target) -> Launch:
    _, height, width, _ = bhwc(op.operand(0).shape)
    return _lines(op).by_slices(
        target, {1, 2}, group_items=slice_group_size(height * width, target)
    )


def _grouped_rows(op: Op, target: Target) -> Launch:
    _, count = _rows(op)
    return _lines(op).by_elements(axes(op), group_items=group_size(count, target))


def _by_rows(op: Op, target: Target) -> Launch:
    return _lines(op).by_rows(axes_of_rows(op.operand(0).shape, axes(op), target))


IMPLEMENTATIONS = (
    Implementation("reduce_group", _grouped, _all_pixels),
    Implementation("reduce", _sliced, _alone(_pixels_only)),
    row_major("reduce_group_linear", _grouped_rows, _long_rows),
    row_major("reduce_rows", _by_rows, _alone(_in_slices, lanes=True)),
    row_major(
        "reduce_columns",
        lambda op, target: _lines(op).by_columns(target, axes(op)),
        _alone(_across_rows),
    ),
    row_major("reduce_linear", lambda op, _: _lines(op).by_elements(axes(op)), _alone(no_reason)),
)

_PERMUTABLE = Permutable(
    axes=1, condition=lambda op: bool(op.attrs.get("keep_dims")) and op.operand(1).constant
)

for _name, _row in REDUCTIONS.items():
    _kind = "bool" if _row.dtypes == ("bool",) else "U"
    define(
        f"{_name} x:{_kind} axes:integer -> y:{_kind}",
        infer,
        IMPLEMENTATIONS,
        _reference,
        _row.dtypes,
        versions=_row.versions,
        traits=Traits(permutable=_PERMUTABLE, range=_row.range),
    )
