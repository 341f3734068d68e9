"""What operators do that may not be meant for inputs of other sizes than those in the file."""

from collections.abc import Callable, Mapping

from ...ir import Graph, Op
from ...ir.sizes import in_file, is_changed
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.reduce.reduce import REDUCTIONS, axes
from .combined_axes import COMBINED
from .fit_constants import is_fixed, names_all

# Operators that give the elements another shape, and those that compute each element alone.
VIEWS = frozenset(["RESHAPE", "SQUEEZE", "EXPAND_DIMS"])
ALIKE = ELEMENTWISE.keys() | {"CAST", "QUANTIZE", "DEQUANTIZE"}

BROADCAST = ALIKE | {"BATCH_MATMUL"}
UNKNOWN = "is not known to do the same for other sizes"
_SPLITS = {"SPLIT": (1, 0), "SPLIT_V": (0, 2)}  # Positions of what is split and of the axis.


def doubt(graph: Graph, op: Op) -> str | None:
    """What an operator does that may not be meant for other sizes; None if nothing."""
    if op.name in _DOUBTS:
        return _DOUBTS[op.name](graph, op)
    return None if op.name in COMBINED or op.name in VIEWS else UNKNOWN


def _meets(graph: Graph, op: Op) -> str | None:
    """A batch of one that is repeated along an axis may come to meet one of its own size."""
    given = [graph.resized.known(tensor) for tensor in op.reads]
    if op.name == "BATCH_MATMUL":
        given = [sizes[:-2] for sizes in given]
    for place in range(1, max(map(len, given), default=0) + 1):
        sizes = [sizes[-place] for sizes in given if place <= len(sizes)]
        repeated = any(is_changed(size) and in_file(size) == 1 for size in sizes)
        if repeated and len(set(map(in_file, sizes))) > 1:
            return "repeats a batch of one along another axis"
    return None


def _scaled_sum(graph: Graph, op: Op) -> str | None:
    """A sum may be made a mean by a factor, which holds a size."""
    sizes = graph.resized.known(op.operand(0))
    changed = [size for axis in axes(op) if is_changed(size := sizes[axis])]
    summed = [size for size in changed if in_file(size) != 1]
    scaled = any(
        reader.name in ("MUL", "DIV") and any(tensor.constant for tensor in reader.reads)
        for reader in graph.consumers(op.output)
    )
    adds_up = op.name in ("SUM", "REDUCE_PROD") and summed and scaled
    return "sums up an axis, and the sum is scaled by a constant" if adds_up else None


def _whole_window(graph: Graph, op: Op) -> str | None:
    window = (op.attrs["filter_height"], op.attrs["filter_width"])
    sizes = graph.resized.known(op.operand(0))[1:3]
    pairs = zip(sizes, window, strict=True)
    whole = any(is_changed(size) and in_file(size) == extent for size, extent in pairs)
    return f"has a window of {window[0]}x{window[1]}, the whole image" if whole else None


def _places(graph: Graph, op: Op) -> str | None:
    """Places along an axis may be computed by constants that hold its size."""
    sizes = graph.resized.known(op.operand(0))
    if op.name == "GATHER":
        axis = op.attrs.get("axis", 0)
        first = is_fixed(op, 1) and not op.constant(1).any()
        used = [] if first else [sizes[axis]]
    elif op.name == "GATHER_ND":
        used = list(sizes[: op.operand(1).shape[-1]])
        if is_fixed(op, 1) and names_all(op, sizes):
            used = []
    else:
        used = [sizes[int(op.number(1))]]
    return "has places along an axis of another size" if any(map(is_changed, used)) else None


def _split_axis(graph: Graph, op: Op) -> str | None:
    source, axis = _SPLITS[op.name]
    sizes = graph.resized.known(op.operand(source))
    return "splits an axis" if is_changed(sizes[int(op.number(axis))]) else None


def _blocks(graph: Graph, op: Op) -> str | None:
    changed = any(map(is_changed, graph.resized.known(op.operand(0))[1:]))
    return "splits an axis" if changed else None


def _tiles(graph: Graph, op: Op) -> str | None:
    sizes = zip(graph.resized.known(op.operand(0)), op.integers(1), strict=True)
    changed = any(times != 1 and is_changed(size) for size, times in sizes)
    return "repeats an axis" if changed else None


def _repeats(graph: Graph, op: Op) -> str | None:
    """Repeating to a size that an input had in the file may be meant to follow it."""
    wanted, sizes = op.integers(1), graph.resized.known(op.operand(0))
    kept = [in_file(size) for size in sizes]
    repeated = {
        axis: size
        for axis, size in enumerate(wanted, start=len(sizes) - len(wanted))
        if size != 1 and (axis < 0 or kept[axis] == 1)
    }
    batch = any(axis >= 0 and is_changed(sizes[axis]) for axis in repeated)
    same = any(in_file(size) in repeated.values() for size in graph.resized.chosen)
    return f"repeats {kept} to {wanted}" if batch or same else None


# What finds out what else an operator may mean.
_DOUBTS: Mapping[str, Callable[[Graph, Op], str | None]] = {
    **dict.fromkeys(("ARG_MAX", "ARG_MIN", "GATHER", "GATHER_ND"), _places),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _whole_window),
    **dict.fromkeys(REDUCTIONS, _scaled_sum),
    **dict.fromkeys(_SPLITS, _split_axis),
    **dict.fromkeys(BROADCAST, _meets),
    "BROADCAST_TO": _repeats,
    "SPACE_TO_BATCH_ND": _blocks,
    "TILE": _tiles,
}
