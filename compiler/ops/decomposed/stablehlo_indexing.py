"""STABLEHLO_GATHER, SCATTER, DYNAMIC_SLICE and DYNAMIC_UPDATE_SLICE; shapes only.

`rewrites/decompose/stablehlo_indexing.py` decomposes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir import Op, Shape
from ..base.definition import define
from ..base.storage import ANY, FLOATS, INTEGERS
from ..base.traits import Traits


@dataclass(frozen=True)
class Indexing:
    """Which axes of a tensor, of indices, and of a tensor of windows belong to one another."""

    # The axis of the indices along which a start lies; their rank if each is a single number.
    column: int
    axes: tuple[int, ...]  # The axes of the tensor to which the entries of a start refer.
    window: Shape  # The size of a window along each axis of the tensor.
    places: tuple[int, ...]  # The axes of the tensor of windows that are those of the indices.
    # The axes of the tensor of windows that are axes of the tensor, those not left out of it.
    within: tuple[int, ...]
    shape: Shape  # The shape of the tensor of windows.


def gathering(op: Op) -> Indexing:
    """The windows of a STABLEHLO_GATHER (ModelError)."""
    sizes = numbers(op, "slice_sizes")
    dropped, within = numbers(op, "collapsed_slice_dims"), numbers(op, "offset_dims")
    return _indexing(op, "start_index_map", sizes, dropped, within)


def scattering(op: Op) -> Indexing:
    """The windows of a STABLEHLO_SCATTER (ModelError)."""
    shape, updates = op.operand(0).shape, op.operand(2).shape
    dropped, within = numbers(op, "inserted_window_dims"), numbers(op, "update_window_dims")
    _check(op, within, len(updates))
    _check(op, dropped, len(shape))
    if len(dropped) + len(within) != len(shape):
        raise op.invalid(f"windows over {within}, {dropped} for {list(shape)}")
    sizes = iter([updates[axis] for axis in within])
    window = tuple(1 if axis in dropped else next(sizes) for axis in range(len(shape)))
    found = _indexing(op, "scatter_dims_to_operand_dims", window, dropped, within)
    if found.shape != updates:
        raise op.invalid(f"updates {list(updates)} should be {list(found.shape)}")
    return found


def _indexing(op: Op, axes_option: str, window: Shape, dropped: Shape, within: Shape) -> Indexing:
    shape, indices = op.operand(0).shape, op.operand(1).shape
    axes, column = numbers(op, axes_option), int(op.attrs.get("index_vector_dim", 0))
    if not 0 <= column <= len(indices):
        raise op.invalid(f"starts along axis {column} of {list(indices)}")
    depth = indices[column] if column < len(indices) else 1
    outer = (*indices[:column], *indices[column + 1 :])
    rank = len(outer) + len(within)
    for listed, limit in ((axes, len(shape)), (dropped, len(shape)), (within, rank)):
        _check(op, listed, limit)
    fits = len(window) == len(shape) and all(map(int.__le__, window, shape))
    kept = [size for axis, size in enumerate(window) if axis not in dropped]
    ones = all(window[axis] == 1 for axis in dropped) if fits else False
    if not fits or not ones or len(kept) != len(within) or len(axes) != depth:
        raise op.invalid(
            f"windows {list(window)}, of which axes {list(within)} remain, from starts "
            f"{list(indices)} along axes {list(axes)} do not fit {list(shape)}"
        )
    places = tuple(axis for axis in range(rank) if axis not in within)
    sizes = {**dict(zip(within, kept, strict=True)), **dict(zip(places, outer, strict=True))}
    return Indexing(
        column, axes, tuple(window), places, within, tuple(sizes[axis] for axis in range(rank))
    )


def numbers(op: Op, name: str) -> Shape:
    """An option that is a list of numbers."""
    return tuple(op.integers_in(name))


def _check(op: Op, axes: Iterable[int], rank: int) -> None:
    listed = list(axes)
    if len(set(listed)) < len(listed) or any(not 0 <= axis < rank for axis in listed):
        raise op.invalid(f"axes {listed} are out of range for rank {rank}")


def _infer_scatter(op: Op) -> list[Shape]:
    scattering(op)
    return [op.operand(0).shape]


def _infer_slice(op: Op) -> list[Shape]:
    shape, sizes = op.operand(0).shape, numbers(op, "slice_sizes")
    _check_starts(op, 1)
    if len(sizes) != len(shape) or any(not 0 <= s <= n for s, n in zip(sizes, shape, strict=True)):
        raise op.invalid(f"slices of {list(sizes)} do not fit {list(shape)}")
    return [sizes]


def _infer_update(op: Op) -> list[Shape]:
    _check_starts(op, 2)
    return [op.operand(0).shape]


def _check_starts(op: Op, first: int) -> None:
    starts = [op.operand(i) for i in range(first, len(op.inputs))]
    rank = len(op.operand(0).shape)
    if len(starts) != rank or any(start.elements != 1 for start in starts):
        raise op.invalid(f"it needs {rank} starts, each a single number")


define(
    "STABLEHLO_GATHER x:T indices:integer -> y:T",
    lambda op: [gathering(op).shape],
    dtypes=ANY,
    note="windows that reach past an end are moved back",
    traits=Traits(moves=True),
)
define(
    "STABLEHLO_SCATTER x:T indices:integer updates:T -> y:T",
    _infer_scatter,
    dtypes=(*FLOATS, *INTEGERS, "bool"),
    note="of updates, sums, products, minima and maxima; what would lie past an end is left out",
)
define(
    "STABLEHLO_DYNAMIC_SLICE x:T starts:integer* -> y:T",
    _infer_slice,
    dtypes=ANY,
    note="slices that reach past an end are moved back",
    traits=Traits(moves=True),
)
define(
    "STABLEHLO_DYNAMIC_UPDATE_SLICE x:T update:T starts:integer* -> y:T",
    _infer_update,
    dtypes=ANY,
    note="becomes DYNAMIC_UPDATE_SLICE",
)
