"""What operators hold of the sizes in the file, fitted to inputs of other sizes.

Converters for fixed sizes, such as PyTorch's, write them into the operands of RESHAPE, SLICE and
others. Where it is clear which of them is which, they become the sizes that inputs have now. Where
it is not, the model is refused: a guess could be a wrong result that nobody notices.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Graph, Op, Tensor, constant
from ...ir.sizes import Sizes, by_now, has_batch, in_file, is_changed, regroup
from ...ops.decomposed.recurrent import RECURRENT, batch_axis
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.move.slice import axes_of_entries
from ...ops.reduce.reduce import REDUCTIONS, axes
from .fit_tables import joined_tables, tables, unclear

# Operators whose sizes may be meant to follow the inputs, or to stay as they are in the file.
RESIZES = ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")

# Operators whose first operand is the shape of the result.
TRANSPOSED = ("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE")

# Positions of operands with what they hold now, or with what is read in their place.
_New = Iterator[tuple[int, Array | Sequence[int] | Tensor]]


def fitted(graph: Graph, op: Op) -> dict[int, Tensor]:
    """What to read instead, by position (ModelError if sizes that it holds are unclear)."""
    found = {}
    for position, content in _fitted(graph, op):
        old = op.input(position)
        if isinstance(content, Tensor):
            found[position] = content
        elif old is None:
            found[position] = constant(f"{op.output.name}/shape", np.asarray(content, "int32"))
        elif not np.array_equal(op.constant(position), content):
            found[position] = constant(old.name, np.asarray(content, old.dtype))
    return found


def read_instead(graph: Graph, op: Op, new: Mapping[int, Tensor]) -> None:
    """Let an operator read other operands, by position."""
    graph.set_inputs(op, {**dict(enumerate(op.inputs)), **new}.values())


def image_of(graph: Graph, op: Op) -> Tensor:
    """The image that gives a RESIZE its sizes: what it reads or, if that is one pixel, its source.

    Pyramids of pooled maps resize the mean of a map to the map's sizes.
    """
    source = op.operand(0)
    one_pixel = source.shape[1:3] == (1, 1) and is_fixed(op, 1)
    tensors = [source] if graph.resized.sizes and one_pixel else []
    for tensor in tensors:
        sizes = graph.resized.sizes.get(tensor, ())[1:3]
        if any(map(is_changed, sizes)):
            return tensor if [in_file(size) for size in sizes] == op.integers(1) else source
        producers = graph.producers([tensor])
        tensors += [t for producer in producers for t in producer.reads if t not in tensors]
    return source


def _fitted(graph: Graph, op: Op) -> _New:
    if op.name in ELEMENTWISE:
        yield from tables(graph, op)
    elif op.name == "CONCATENATION":
        yield from joined_tables(graph, op)
    else:
        holder = _HOLDERS.get(op.name)
        if holder is not None:
            source, function = holder
            tensor = op.operand(source) if op.name not in RESIZES else image_of(graph, op)
            sizes = graph.resized.sizes.get(tensor)
            if sizes is not None:
                yield from function(op, sizes)


def is_fixed(op: Op, *positions: int) -> bool:
    """Whether these operands are there, and constant."""
    tensors = [op.input(position) for position in positions]
    return all(tensor is not None and tensor.constant for tensor in tensors)


# -- operands that hold sizes -----------------------------------------------------------------


def _reshape(op: Op, sizes: Sizes) -> _New:
    if op.input(1) is not None and not is_fixed(op, 1):
        return
    wanted = op.integers_in("new_shape") if op.input(1) is None else op.integers(1)
    known = prod(size for size in wanted if size != -1) or 1
    filed = [prod(map(in_file, sizes)) // known if size == -1 else size for size in wanted]
    grouped = regroup(sizes, filed)
    if -1 not in wanted:
        if grouped is None:
            raise unclear(op, f"reshapes {[in_file(size) for size in sizes]} to {wanted}")
        yield 1, [by_now(size) for size in grouped]
    elif grouped and any(
        has_batch(size) and once not in (-1, by_now(size))
        for size, once in zip(grouped, wanted, strict=True)
    ):
        # What is left open would take in the batch, and mix its entries.
        yield 1, [by_now(size) for size in grouped]


def _broadcast_to(op: Op, sizes: Sizes) -> _New:
    if is_fixed(op, 1):
        wanted = op.integers(1)
        for axis, size in enumerate(sizes, start=len(wanted) - len(sizes)):
            if axis >= 0 and wanted[axis] == in_file(size):
                wanted[axis] = by_now(size)
        yield 1, wanted


def _slice(op: Op, sizes: Sizes) -> _New:
    if is_fixed(op, 1, 2):
        counts = op.integers(2)
        for axis, (size, begin) in enumerate(zip(sizes, op.integers(1), strict=False)):
            count, filed = counts[axis], in_file(size)
            if count == -1:  # all that follow
                continue
            if is_changed(size) and begin + count == filed and not begin:
                counts[axis] = by_now(size)
            elif is_changed(size) and (begin + count == filed or has_batch(size)):
                raise unclear(op, f"takes the entries from {begin} to {begin + count}")
        yield 2, counts


def _strided_slice(op: Op, sizes: Sizes) -> _New:
    masks = {name: op.attrs.get(f"{name}_mask", 0) for name in ("begin", "end", "shrink_axis")}
    if not is_fixed(op, 1, 2, 3):
        return
    begins, ends, strides = (op.integers(position) for position in (1, 2, 3))
    for entry, axis in axes_of_entries(op).items():
        size, begin, end = sizes[axis], begins[entry], ends[entry]
        free = (masks["end"] | masks["shrink_axis"]) >> entry & 1
        whole = (not begin or masks["begin"] >> entry & 1) and strides[entry] == 1
        if not is_changed(size):
            continue
        if whole and end == in_file(size) and not free:
            ends[entry] = by_now(size)
        elif not (whole and free) and (end == in_file(size) or has_batch(size)):
            raise unclear(op, f"takes the entries from {begin} to {end}")
    yield 2, ends


def _resize(op: Op, sizes: Sizes) -> _New:
    if is_fixed(op, 1):
        wanted = op.integers(1)
        for axis, size in enumerate(sizes[1:3]):
            if is_changed(size):
                resized, rest = divmod(wanted[axis] * by_now(size), in_file(size))
                if rest:
                    raise unclear(op, f"resizes {in_file(size)} to {wanted[axis]}")
                wanted[axis] = resized
        yield 1, wanted


def _transpose_conv(op: Op, sizes: Sizes) -> _New:
    if is_fixed(op, 0):
        wanted = op.integers(0)
        wanted[0] = by_now(sizes[0])
        strides = [op.attrs[f"stride_{axis}"] for axis in "dhw"[-len(sizes) + 2 :]]
        for axis, stride in enumerate(strides, start=1):
            wanted[axis] += (by_now(sizes[axis]) - in_file(sizes[axis])) * stride
        yield 0, wanted


def _reduction(op: Op, sizes: Sizes) -> _New:
    """A batch of one that is reduced with other axes stays, now that it is more."""
    if is_fixed(op, 1):
        left = [
            axis for axis in axes(op) if in_file(sizes[axis]) > 1 or not is_changed(sizes[axis])
        ]
        if len(left) < len(axes(op)):
            yield 1, left


def _gather_nd(op: Op, sizes: Sizes) -> _New:
    """Indices that name all elements in their order are those of all elements now."""
    if is_fixed(op, 1) and names_all(op, sizes):
        grouped = regroup(sizes, op.operand(1).shape[:-1])
        if grouped is None:
            raise unclear(op, f"takes {[in_file(size) for size in sizes]} apart")
        yield 1, _all_places(map(by_now, sizes)).reshape(*map(by_now, grouped), len(sizes))


def names_all(op: Op, sizes: Sizes) -> bool:
    """Whether the constant indices of a GATHER_ND name all elements of a tensor in their order."""
    indices = op.constant(1)
    places = _all_places(map(in_file, sizes))
    return np.array_equal(indices.reshape(-1, indices.shape[-1]), places)


def _all_places(shape: Iterable[int]) -> Array:
    """The indices of all elements, each a row."""
    grid = np.indices(tuple(shape))
    return grid.reshape(len(grid), -1).T


def _states(op: Op, sizes: Sizes) -> _New:
    """What is kept between runs has an entry for each of the batch."""
    batch = sizes[batch_axis(op)]
    for position, state in enumerate(op.inputs if is_changed(batch) else ()):
        if state is not None and state.variable and state.shape[0] == in_file(batch):
            yield position, replace(state, shape=(by_now(batch), *state.shape[1:]))


# Operators that hold sizes or places of the operand at a position.
_HOLDERS: Mapping[str, tuple[int, Callable[[Op, Sizes], _New]]] = {
    "RESHAPE": (0, _reshape),
    "BROADCAST_TO": (0, _broadcast_to),
    "SLICE": (0, _slice),
    "STRIDED_SLICE": (0, _strided_slice),
    **dict.fromkeys(RESIZES, (0, _resize)),
    **dict.fromkeys(TRANSPOSED, (2, _transpose_conv)),
    "GATHER_ND": (0, _gather_nd),
    **dict.fromkeys(REDUCTIONS, (0, _reduction)),
    **dict.fromkeys(RECURRENT, (0, _states)),
}
