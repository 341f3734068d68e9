"""StableHLO's reductions of windows, gathers and scatters, with axes in any order."""

from collections.abc import Sequence

import numpy as np
from cases.stablehlo_windows import JOINS, reduced, scattered, updated
from graphs import Value, joined, known, typed, xi
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Shape

from .draws import Generator, flag, given, number, one_in, pick, shape

STARTS = {"ADD": 0, "MUL": 1, "MINIMUM": 5, "MAXIMUM": -5}


def windows(draw: DrawFn) -> Value:
    operator, dtype = pick(draw, tuple(STARTS)), pick(draw, ("float32", "float32", "int32"))
    sizes = shape(draw, (1, 2, 3, 4, 5), 300)
    spread = [pick(draw, (1, 1, 1, 2)) for _ in sizes]
    pads = [number(draw, -1 if size > 3 else 0, 2) for size in sizes for _ in range(2)]
    extents = [
        (size - 1) * step + 1 + sum(pads[2 * i : 2 * i + 2])
        for i, (size, step) in enumerate(zip(sizes, spread, strict=True))
    ]
    window = tuple(number(draw, 1, min(extent, 4)) for extent in extents)
    apart = [
        2 if 2 * size - 1 <= extent and one_in(draw, 3) else 1
        for extent, size in zip(extents, window, strict=True)
    ]
    start = STARTS[operator] if flag(draw) else {"ADD": 0, "MUL": 1}.get(operator, 0)
    return reduced(
        *(operator, given(draw, sizes, dtype), start, window, dtype),
        window_strides=tuple(number(draw, 1, 3) for _ in sizes),
        base_dilations=tuple(spread),
        window_dilations=tuple(apart),
        padding=tuple(pads),
    )


def _some(draw: DrawFn, rank: int) -> tuple[int, ...]:
    """Some axes in order, maybe none."""
    return tuple(axis for axis in range(rank) if flag(draw))


def _starts(draw: DrawFn, outer: Shape, axes: Sequence[int], extents: Shape) -> tuple[Value, int]:
    """Indices, some beyond the ends, with an entry per axis along an axis of their own."""
    column = number(draw, 0, len(outer))
    sizes = (*outer[:column], len(axes), *outer[column:])
    if flag(draw):
        return xi(*sizes, draw=pick(draw, ("places", "counts", "small"))), column
    random = np.random.default_rng(number(draw, 0, 999))
    return known(random.integers(0, min(extents), sizes).astype(np.int32)), column


def _indexing(draw: DrawFn) -> tuple[Shape, Shape, tuple[int, ...], tuple[int, ...], Shape]:
    """A shape, windows of it, the axes with starts, the axes left out, and those of the indices."""
    whole = shape(draw, (1, 2, 3, 4), 300)
    dropped = _some(draw, len(whole))
    window = tuple(
        1 if axis in dropped else number(draw, 1, size) for axis, size in enumerate(whole)
    )
    axes = tuple(draw(st.permutations(range(len(whole)))))[: number(draw, 1, len(whole))]
    return whole, window, axes, dropped, pick(draw, ((5,), (2, 3), (1,)))


def _placed(draw: DrawFn, count: int, rank: int) -> tuple[int, ...]:
    """Where the axes of windows are among those of the result."""
    return tuple(sorted(tuple(draw(st.permutations(range(rank))))[:count]))


def gather(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "int32"))
    whole, window, axes, dropped, outer = _indexing(draw)
    kept = len(whole) - len(dropped)
    starts, column = _starts(draw, outer, axes, whole)
    return typed(
        *(dtype, "STABLEHLO_GATHER", given(draw, whole, dtype), starts),
        offset_dims=_placed(draw, kept, kept + len(outer)),
        collapsed_slice_dims=dropped,
        start_index_map=axes,
        index_vector_dim=column,
        slice_sizes=window,
    )


def scatter(draw: DrawFn) -> Value:
    dtype = pick(draw, ("float32", "float32", "int32"))
    whole, window, axes, dropped, outer = _indexing(draw)
    starts, column = _starts(draw, outer, axes, whole)
    kept = [size for axis, size in enumerate(window) if axis not in dropped]
    within = _placed(draw, len(kept), len(kept) + len(outer))
    own, rest = iter(kept), iter(outer)
    sizes = [next(own if i in within else rest) for i in range(len(kept) + len(outer))]
    # Which of several updates of an element is the last is unsaid where windows overlap.
    overlap = any(window[axis] > 1 for axis in axes)
    join = pick(draw, JOINS if overlap else (*JOINS, "update"))
    return scattered(
        updated(dtype) if join == "update" else joined(join, dtype),
        *(xi(*whole, draw="small", dtype=dtype), starts),
        xi(*sizes, draw="small", dtype=dtype),
        update_window_dims=within,
        inserted_window_dims=dropped,
        scatter_dims_to_operand_dims=axes,
        index_vector_dim=column,
    )


GENERATORS: dict[str, Generator] = {
    "STABLEHLO_GATHER": gather,
    "STABLEHLO_REDUCE_WINDOW": windows,
    "STABLEHLO_SCATTER": scatter,
}
