"""Slices, gathers and scatters at computed places become operators on windows.

y = STRIDED_SLICE(x[5, 7], begin, end, [1, 2]) begin_mask=2 end_mask=2 shrink_axis_mask=1
becomes   t = tflgpu.take_windows(x, begin[:1]) axes=(0,) window=(1, 7)   y = t[0, ::2]

y = STABLEHLO_GATHER(x[7, 5], i[3, 1]) offset_dims=(0,) collapsed_slice_dims=(1,) ...
becomes   t = tflgpu.take_windows(x, i) axes=(1,) window=(7, 1)   y = TRANSPOSE(RESHAPE(t), [1, 0])
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from ...ir import Shape, Tensor
from ...ops.base.shapes import with_ones
from ...ops.decomposed.stablehlo_indexing import Indexing, gathering, numbers, scattering
from ...ops.indexing.windows import JOIN, JOIN_ALONG, TAKE, joins_lines
from ...ops.move.slice import strided_at_computed
from .computation import joining
from .decomposition import Decomposition, decomposes


@decomposes("SLICE")
def computed_slice(here: Decomposition) -> Tensor | str:
    """One window, if its start is computed."""
    x, begin = here.op.operand(0), here.op.operand(1)
    if begin.constant:
        return "it begins at a constant place"
    shape = here.op.output.shape
    starts = here.reshape(begin, (1, len(shape)))
    taken = here.add(TAKE, x, starts, axes=tuple(range(len(shape))), window=shape)
    return here.reshape(taken, shape)


@decomposes("STRIDED_SLICE")
def computed_strided_slice(here: Decomposition) -> Tensor | str:
    """One window with the axes that are dropped at their first place, and a slice of that."""
    x, begin, _, strides = (here.op.operand(i) for i in range(4))
    if begin.constant:
        return "it begins at a constant place"
    singles = strided_at_computed(here.op).singles
    if singles:
        x = _at_places(here, x, begin, *zip(*singles, strict=True))
    first = here.constant(np.zeros(begin.shape), "int32")
    last = here.constant(np.ones(begin.shape), "int32")
    return here.add("STRIDED_SLICE", x, first, last, strides, **here.op.attrs)


def _at_places(
    here: Decomposition, x: Tensor, begin: Tensor, entries: Sequence[int], axes: Sequence[int]
) -> Tensor:
    """The part of `x` that has the places in those entries of `begin` alone along those axes."""
    window = with_ones(x.shape, axes)
    places = _from_start(here, begin, entries, [x.shape[axis] for axis in axes])
    starts = here.reshape(places, (1, len(axes)))
    return here.reshape(here.add(TAKE, x, starts, axes=tuple(axes), window=window), window)


def _from_start(
    here: Decomposition, begin: Tensor, entries: Sequence[int], sizes: Sequence[int]
) -> Tensor:
    """Those entries of `begin`, negative ones counted from the end of axes of those sizes."""
    places = here.add("GATHER", begin, here.constant(entries, "int32"), axis=0, batch_dims=0)
    zero = here.constant(0, begin.dtype)
    behind = here.add("ADD", places, here.constant(sizes, begin.dtype))
    return here.add(
        *("SELECT_V2", here.add("LESS", places, zero, dtype="bool"), behind, places),
        dtype=begin.dtype,
    )


_Along = tuple[int, Tensor, Tensor]  # An axis, the places along it, and the updates.


@decomposes("STABLEHLO_GATHER")
def gather(here: Decomposition) -> Tensor:
    """The windows, without the axes left out, with their own axes among those of the indices."""
    found = gathering(here.op)
    x, starts = here.op.operand(0), _starts(here, found)
    taken = here.add(TAKE, x, starts, axes=found.axes, window=found.window)
    order = (*found.places, *found.within)
    listed = here.reshape(taken, tuple(found.shape[axis] for axis in order))
    return here.transpose(listed, [order.index(axis) for axis in range(len(order))])


@decomposes("STABLEHLO_SCATTER")
def scatter(here: Decomposition) -> Tensor:
    """Updates along one axis, if the other coordinates of each are its own, or windows of them."""
    op = here.op
    join = joining(here.graph, op, op.attrs["update_computation_subgraph_index"], here.target)
    if join is None:
        reason = "its subgraph is no update, sum, product, minimum or maximum"
        raise op.unsupported(reason)
    found = scattering(op)
    x = op.operand(0)
    along = _along_an_axis(here, found) or _of_rows(here, found)
    if along is not None:
        axis, *operands = along
        return here.add(JOIN_ALONG, x, *operands, axis=axis, join=join)
    starts, windows = _starts(here, found), _windows(here, found)
    return here.add(JOIN, x, starts, windows, axes=found.axes, join=join)


def _windows(here: Decomposition, found: Indexing) -> Tensor:
    """The updates [count, *window]."""
    listed = here.transpose(here.op.operand(2), [*found.places, *found.within])
    count = prod(found.shape[axis] for axis in found.places)
    return here.reshape(listed, (count, *found.window))


def _starts(here: Decomposition, found: Indexing) -> Tensor:
    """The indices [count, depth]."""
    indices, depth = here.op.operand(1), len(found.axes)
    order = [axis for axis in range(len(indices.shape)) if axis != found.column]
    if found.column < len(indices.shape):
        order.append(found.column)
    count = prod(found.shape[axis] for axis in found.places)
    return here.reshape(here.transpose(indices, order), (count, depth))


def _of_rows(here: Decomposition, found: Indexing) -> _Along | None:
    """The one axis along which updates of whole rows have places, the places, and the updates."""
    shape, window = here.op.operand(0).shape, found.window
    if len(found.axes) != 1 or window[found.axes[0]] != 1:
        return None
    axis = found.axes[0]
    if window[:axis] + window[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
        return None
    count = prod(found.shape[place] for place in found.places)
    if not joins_lines(here.op.operand(0), axis, count, here.target):
        return None
    rows = here.reshape(_windows(here, found), (count, *window[:axis], *window[axis + 1 :]))
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
    places = here.reshape(_starts(here, found), (count,))
    return axis, places, here.transpose(rows, order)


def _along_an_axis(here: Decomposition, found: Indexing) -> _Along | None:
    """The axis along which alone the place of an update is computed, the places and the updates.

    PyTorch's scatters are such: their indices are a concatenation of the places along one axis
    with constants that count along the others.
    """
    x, indices, updates = (here.op.operand(i) for i in range(3))
    rank = len(x.shape)
    if prod(found.window) != 1 or found.axes != tuple(range(rank)) or found.column != rank:
        return None
    joined = here.graph.producer(indices)
    if joined is None or joined.name != "CONCATENATION" or len(joined.reads) != rank:
        return None
    columns = joined.reads
    computed = [axis for axis, column in enumerate(columns) if not column.constant]
    if len(computed) != 1 or {column.shape for column in columns} != {(*updates.shape, 1)}:
        return None
    axis = computed[0]
    if not joins_lines(x, axis, updates.shape[axis], here.target):
        return None
    own = (_counts(columns[i], i, x.shape, updates.shape) for i in range(rank) if i != axis)
    return (axis, here.reshape(columns[axis], updates.shape), updates) if all(own) else None


def _counts(column: Tensor, axis: int, shape: Shape, updates: Shape) -> bool:
    """Whether a constant column [*updates, 1] has for each update its own place along an axis."""
    if column.data is None or shape[axis] != updates[axis]:
        return False
    return bool((column.data[..., 0] == np.indices(updates)[axis]).all())


@decomposes("STABLEHLO_DYNAMIC_SLICE")
def dynamic_slice(here: Decomposition) -> Tensor:
    """One window."""
    x, sizes = here.op.operand(0), numbers(here.op, "slice_sizes")
    axes = tuple(range(len(sizes)))
    starts = here.reshape(_joined(here, 1), (1, len(sizes)))
    return here.reshape(here.add(TAKE, x, starts, axes=axes, window=sizes), sizes)


@decomposes("STABLEHLO_DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(here: Decomposition) -> Tensor:
    """Its starts in one tensor."""
    x, update = here.op.operand(0), here.op.operand(1)
    return here.add("DYNAMIC_UPDATE_SLICE", x, update, _joined(here, 2))


def _joined(here: Decomposition, first: int) -> Tensor:
    """The starts from that operand on, each a single number, as a vector."""
    starts = [here.reshape(here.op.operand(i), (1,)) for i in range(first, len(here.op.inputs))]
    if not starts:
        return here.constant(np.zeros(0), "int32")
    return here.add("CONCATENATION", *starts, axis=0)
