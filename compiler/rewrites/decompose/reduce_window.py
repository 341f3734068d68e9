"""REDUCE_WINDOW becomes pools where there are such, and otherwise reductions of gathered windows.

y = REDUCE_WINDOW(x[2, 8, 7, 7, 3], 0) reduce_function=ADD, of windows [1, 2, 3, 3, 1]
becomes   s = MUL(AVERAGE_POOL_2D(x[16, 7, 7, 3]), 9)   y = MUL(AVERAGE_POOL_2D(s[2, 8, 9, 3]), 2)
"""

from math import prod

from ...ir import Tensor
from ...ops.base.storage import FLOATS
from ...ops.base.window import Along
from ...ops.decomposed.reduce_window import FUNCTIONS, stablehlo_windows, windows
from .computation import joining
from .decomposition import Decomposition, decomposes

# The start that changes no result.
NEUTRAL = {"ADD": 0.0, "MUL": 1.0, "MAXIMUM": float("-inf"), "MINIMUM": float("inf")}


@decomposes("STABLEHLO_REDUCE_WINDOW")
def stablehlo_reduce_window(here: Decomposition) -> Tensor:
    """What is between and around the elements is the start, with which each result is joined."""
    op = here.op
    join = joining(here.graph, op, op.attrs["body_subgraph_index"], here.target)
    named = {join: function for function, (_, join) in FUNCTIONS.items()}
    if join not in named:
        reason = "its subgraph is no sum, product, minimum or maximum"
        raise op.unsupported(reason)
    start = here.reshape(op.operand(1), ())
    along = stablehlo_windows(op)
    axis = _summed_from_an_end(here, along) if join == "ADD" and _is_neutral("ADD", start) else None
    if axis is not None:
        reverse = along[axis].after > 0
        at = here.constant(axis, "int32")
        return here.add("CUMSUM", op.operand(0), at, exclusive=False, reverse=reverse)
    padded = here.add(
        "STABLEHLO_PAD",
        op.operand(0),
        start,
        edge_padding_low=[each.before for each in along],
        edge_padding_high=[each.after for each in along],
        interior_padding=[each.spread - 1 for each in along],
    )
    tables = [
        here.constant([getattr(each, name) for each in along], "int64")
        for name in ("size", "stride", "dilation")
    ]
    function = named[join]
    return here.add("REDUCE_WINDOW", padded, start, *tables, reduce_function=function)


def _summed_from_an_end(here: Decomposition, along: list[Along]) -> int | None:
    """The axis whose windows end, or begin, with each of its elements and have all before it."""
    shape = here.op.operand(0).shape
    axes = [axis for axis, each in enumerate(along) if not each.whole]
    if len(axes) != 1:
        return None
    size, own = shape[axes[0]], along[axes[0]]
    edges = [(each.before, each.after) for each in along]
    rest = size - 1
    one_end = edges[axes[0]] in ((rest, 0), (0, rest)) and rest > 0
    plain = own.stride == own.dilation == 1 and own.size == size
    others = all(edge == (0, 0) for axis, edge in enumerate(edges) if axis != axes[0])
    spread = any(each.spread > 1 for each in along)
    return axes[0] if one_end and plain and others and not spread else None


@decomposes("REDUCE_WINDOW")
def reduce_window(here: Decomposition) -> Tensor:
    """Axis by axis, or two axes at once; then each result is joined with the start."""
    op = here.op
    function = op.attrs["reduce_function"]
    start = here.reshape(op.operand(1), ())
    along = windows(op)
    pooled = function in _POOLS and op.output.dtype in FLOATS and op.output.elements > 0
    if pooled and all(each.dilation == 1 or each.size == 1 for each in along):
        value = _pooled(here, function, along)
    else:
        value = _gathered(here, function, along)
    if not _is_neutral(function, start):
        value = here.add(FUNCTIONS[function][1], start, value)
    return value


def _is_neutral(function: str, start: Tensor) -> bool:
    return start.data is not None and start.data == NEUTRAL.get(function)


def _gathered(here: Decomposition, function: str, along: list[Along]) -> Tensor:
    """Windows that overlap repeat what they share along one axis at a time only."""
    value = here.op.operand(0)
    for axis, each in enumerate(along):
        if not each.whole:
            places = here.constant(each.places, "int32")
            parts = here.add("GATHER", value, places, axis=axis, batch_dims=0)
            value = here.reduce(FUNCTIONS[function][0], parts, axis + 1, keep_dims=False)
    return value


def _pooled(here: Decomposition, function: str, along: list[Along]) -> Tensor:
    """Pools of images whose rows and columns are two axes, the rest batches and channels.

    If nothing lies behind the last axis with windows, what lies before becomes the channels.
    """
    value = here.op.operand(0)
    axes = [axis for axis, each in enumerate(along) if not each.whole]
    if not axes:
        return value
    rest = [axis for axis in range(len(along)) if axis not in axes]
    moved = prod(value.shape[axes[-1] + 1 :]) == 1 and bool(rest)
    order = [*axes, *rest] if moved else list(range(len(along)))
    value = here.transpose(value, order)
    along = [along[axis] for axis in order]
    axes = [order.index(axis) for axis in axes]
    while axes:
        column = axes.pop()
        row = axes.pop() if axes and axes[-1] == column - 1 else column
        value = _pool(here, function, value, along, row, column)
    return here.transpose(value, [order.index(axis) for axis in range(len(along))])


def _pool(
    here: Decomposition, function: str, value: Tensor, along: list[Along], row: int, column: int
) -> Tensor:
    """The pool of windows along one axis, or two neighbouring ones."""
    shape = value.shape
    rows = along[row] if row < column else Along(1)
    columns = along[column]
    image = (prod(shape[:row]), rows.extent, columns.extent, prod(shape[column + 1 :]))
    result = here.add(
        _POOLS[function],
        here.reshape(value, image),
        padding="VALID",
        filter_height=rows.size,
        filter_width=columns.size,
        stride_h=rows.stride,
        stride_w=columns.stride,
    )
    if function == "ADD":
        result = here.add("MUL", result, here.constant(rows.size * columns.size))
    counts = (rows.count, columns.count) if row < column else (columns.count,)
    return here.reshape(result, (*shape[:row], *counts, *shape[column + 1 :]))


# The pool of each function; an average has a whole number of elements.
_POOLS = {"ADD": "AVERAGE_POOL_2D", "MAXIMUM": "MAX_POOL_2D"}
