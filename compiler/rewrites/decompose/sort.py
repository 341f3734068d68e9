"""STABLEHLO_SORT becomes a sort of the last axis, and gathers of what is sorted with it.

y, z = STABLEHLO_SORT(x[5, 7], p[5, 7]) dimension=1
becomes   y, places = tflgpu.sort(x) falling=False nan_first=False   z = GATHER(p, places)

TOPK_V2 and sorts of long rows are decomposed into steps, as their kernels compare all pairs.

values, places = TOPK_V2(x[4000], 10)
becomes   v, p = tflgpu.top_of_blocks(x) length=64 count=10 falling=True nan_first=False
          w, q = tflgpu.merge_tops(v, p) length=10 lists=4 count=10 ...
          values, places = ... until one list is left
"""

import numpy as np

from ...ir import Array, Tensor
from ...ops.base.storage import FLOATS
from ...ops.sort.sort import BLOCKS, LONG, MERGE, SORT, axis_of, in_a_heap
from .computation import evaluated
from .decomposition import Decomposition, Results, decomposes

_FLOATS = (np.nan, -np.inf, -3e38, -2.5, -0.5, 0.0, 1e-3, 1.0, 7.0, np.inf)
_INTEGERS = (-100, -3, -1, 0, 1, 2, 99)
_TRUTHS = (0, 1)

SHORTEST = 64  # Fewest values of a block.
LONGEST = 256  # Most values of a block; in between, a block has four times the values kept of it.
LISTS = 4  # Lists merged at once.


@decomposes("STABLEHLO_SORT")
def sort(here: Decomposition) -> Results:
    """The comparator says by which operand, and in which direction."""
    op = here.op
    found = _order(here)
    if found is None:
        reason = "its comparator does not say which value of one of the operands is larger"
        raise op.unsupported(reason)
    key, falling, nan_first = found
    rank, axis = len(op.operand(0).shape), axis_of(op)
    order = [*(i for i in range(rank) if i != axis), axis]
    back = [order.index(i) for i in range(rank)]
    rows = here.transpose(op.operand(key), order)
    values, places = here.several(
        SORT, (rows,), [rows.dtype, "int32"], falling=falling, nan_first=nan_first
    )
    sorted_with = [
        values if i == key else _taken(here, op.operand(i), places, order)
        for i in range(len(op.inputs))
    ]
    return [here.transpose(result, back) for result in sorted_with]


def _taken(here: Decomposition, tensor: Tensor, places: Tensor, order: list[int]) -> Tensor:
    """The elements of a tensor in the order of the places; of a range, the places themselves."""
    last = len(order) - 1
    rows = here.transpose(tensor, order)
    counting = np.broadcast_to(np.arange(places.shape[-1]), places.shape)
    if rows.data is not None and np.array_equal(rows.data, counting):
        return places if rows.dtype == "int32" else here.add("CAST", places, dtype=rows.dtype)
    return here.add("GATHER", rows, places, axis=last, batch_dims=last)


def _order(here: Decomposition) -> tuple[int, bool, bool] | None:
    """The operand that is sorted by, whether it falls, and whether NaN comes first."""
    for key in range(len(here.op.inputs)):
        samples = _samples(here.op.operand(key).dtype)
        before = _compared(here, key, samples)
        if before is None:
            continue
        nan = np.isnan(samples)
        numbers = samples[~nan]
        known = before[np.ix_(~nan, ~nan)]
        differ = numbers[:, None] != numbers
        for falling in (False, True):
            wanted = numbers[:, None] > numbers if falling else numbers[:, None] < numbers
            if (known == wanted)[differ].all():
                return key, falling, bool(before[np.ix_(nan, ~nan)].all() and nan.any())
    return None


def _samples(dtype: str) -> Array:
    values = _FLOATS if dtype in FLOATS else _TRUTHS if dtype == "bool" else _INTEGERS
    return np.array(values, np.float64)


def _compared(here: Decomposition, key: int, samples: Array) -> Array | None:
    """What the comparator says of each pair of samples of an operand, [first, second].

    The other operands are drawn, so that it depends on none of them.
    """
    random = np.random.default_rng(7)
    pairs = [grid.ravel() for grid in np.meshgrid(samples, samples, indexing="ij")]
    operands = []
    for i in range(len(here.op.inputs)):
        dtype = here.op.operand(i).dtype
        drawn = [random.choice(_samples(dtype), pairs[0].size) for _ in pairs]
        operands += [each.astype(dtype) for each in (pairs if i == key else drawn)]
    subgraph = here.op.attrs["comparator_subgraph_index"]
    result = evaluated(here.graph, here.op, subgraph, operands, here.target)
    return None if result is None else result.reshape(samples.size, samples.size)


@decomposes("TOPK_V2")
def in_steps(here: Decomposition) -> Results | str:
    """Keep the top of each block, then merge the resulting lists, LISTS at a time."""
    size, count = here.op.operand(0).shape[-1], here.op.output.shape[-1]
    if size < LONG:
        return f"rows of {size} values are short"
    if in_a_heap(size, count, here.target):
        return f"one work-item keeps {count} of {size} values in a heap"
    return _steps(here, count, falling=True, nan_first=False)


@decomposes(SORT)
def sort_in_steps(here: Decomposition) -> Results | str:
    """Sort blocks, then merge the resulting lists, LISTS at a time."""
    size = here.op.output.shape[-1]
    if size < LONG:
        return f"rows of {size} values are short"
    return _steps(here, size, **here.op.attrs)


def _steps(here: Decomposition, count: int, **order: bool) -> tuple[Tensor, ...]:
    size = here.op.operand(0).shape[-1]
    length = min(max(SHORTEST, 4 * count), LONGEST)
    types = [tensor.dtype for tensor in here.op.outputs]
    first = {"length": length, "count": count, **order}
    values, places = here.several(BLOCKS, (here.op.operand(0),), types, **first)
    stretch = length
    while stretch < size:
        step = {"length": min(count, stretch), "lists": LISTS, "count": count, **order}
        values, places = here.several(MERGE, (values, places), types, **step)
        stretch *= LISTS
    return values, places
