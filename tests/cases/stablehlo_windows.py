"""Operators of StableHLO on parts of tensors: windows that are reduced, taken, or put elsewhere."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import Body, Call, Input, Value, call, joined, known, number, typed, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case

Attrs = dict[str, Any]


def windows() -> Iterator[Case]:
    image, volume = (2, 9, 7, 5), (2, 3, 5, 6, 7)
    around = (0, 0, 1, 2, 2, 1, 0, 0)
    plain = reduced("ADD", x(*image), 0.0, (1, 3, 2, 1), window_strides=(1, 2, 3, 1))
    yield Case(WINDOW, "of sums, without padding", plain)
    for operator, start in (("ADD", 0.5), ("MUL", 1.0), ("MINIMUM", np.inf), ("MAXIMUM", -np.inf)):
        padded = reduced(operator, x(*image), start, (1, 3, 3, 1), padding=around)
        yield Case(WINDOW, f"{operator} with padding", padded)
        deep: Attrs = {"window_strides": (1, 1, 1, 2, 3), "padding": (0, 0, 0, 0, 1, 1, 0, 0, 2, 0)}
        last = reduced(operator, x(*volume), start, (1, 1, 2, 2, 3), **deep)
        yield Case(WINDOW, f"{operator} over the last three axes", last)
    apart: Attrs = {"base_dilations": (1, 2, 3, 1), "window_dilations": (1, 1, 2, 1)}
    value = reduced("ADD", x(*image), 0.0, (1, 3, 3, 1), **apart, padding=(0, 0, -1, 2, 0, 0, 0, 0))
    yield Case(WINDOW, "with dilations, cropped", value)
    value = reduced("MAXIMUM", x(3, 5, 7), -np.inf, (2, 1, 3), padding=(1, 0, 0, 0, 0, 0))
    yield Case(WINDOW, "over axes that are no neighbours", value)
    for padding in ((0, 0, 6, 0), (0, 0, 0, 6)):
        sums = reduced("ADD", x(3, 7), 0.0, (1, 7), padding=padding)
        yield Case(WINDOW, f"of running sums, {padding}", sums)
    value = reduced("MAXIMUM", call("TANH", x(7, 5)), -1.0, (3, 1))
    yield Case(WINDOW, "fused", call("RELU", value))
    for operator in ("ADD", "MUL", "MINIMUM"):
        value = reduced(operator, xi(7, 5), 2, (3, 2), "int32", padding=(1, 1, 0, 0))
        yield Case(WINDOW, f"{operator} of integers", value)


WINDOW = "STABLEHLO_REDUCE_WINDOW"
# What LiteRT's scatter takes, by these names only.
JOINS = ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MINIMUM", "STABLEHLO_MAXIMUM")


def reduced(
    operator: str,
    operand: Value,
    start: float,
    sizes: tuple[int, ...],
    dtype: str = "float32",
    **attrs: Any,
) -> Value:
    """A reduction of windows, by default next to one another, without padding."""
    ones = (1,) * len(sizes)
    apart = ("window_strides", "base_dilations", "window_dilations")
    given: Attrs = {**dict.fromkeys(apart, ones), "padding": (0, 0) * len(sizes), **attrs}
    body = joined(operator, dtype)
    return typed(
        *(dtype, WINDOW, operand, number(start, dtype)),
        window_dimensions=sizes,
        **given,
        body_subgraph_index=body,
    )


def gathers() -> Iterator[Case]:
    """Rows, columns, and windows that reach past the ends."""
    ways: tuple[tuple[str, Shape, Shape, Attrs, Shape], ...] = (
        ("rows", (7, 5), (3, 2, 1), {"offset_dims": (2,), "collapsed_slice_dims": (0,)}, (1, 5)),
        ("columns", (5, 7), (3, 1), {"offset_dims": (0,), "collapsed_slice_dims": (1,)}, (5, 1)),
        ("windows", (5, 7, 3), (4, 1), {"offset_dims": (1, 2, 3)}, (2, 7, 3)),
    )
    axes = {"rows": 0, "columns": 1, "windows": 0}
    for name, shape, indices, dims, sizes in ways:
        attrs: Attrs = {"start_index_map": (axes[name],), "index_vector_dim": len(indices) - 1}
        places = xi(*indices, draw="counts")
        value = call("STABLEHLO_GATHER", x(*shape), places, **dims, **attrs, slice_sizes=sizes)
        yield Case("STABLEHLO_GATHER", f"{name}, computed", value)
    attrs = {"offset_dims": (0, 2), "start_index_map": (1, 0), "index_vector_dim": 0}
    places = xi(2, 3, draw="places", dtype="int64")
    value = typed(*("int32", "STABLEHLO_GATHER", xi(5, 7), places), **attrs, slice_sizes=(2, 3))
    yield Case("STABLEHLO_GATHER", "of integers, axes exchanged, starts first", value)
    attrs = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)}
    value = call(
        *("STABLEHLO_GATHER", x(7, 5), xi(3, draw="places")),
        **attrs,
        index_vector_dim=1,
        slice_sizes=(1, 5),
    )
    # LiteRT itself reads sizes beyond those of such indices, as it does in SCATTER.
    oracle = call("GATHER", x(7, 5), xi(3, draw="places"), axis=0, batch_dims=0)
    yield Case("STABLEHLO_GATHER", "of rows at single numbers", value, oracle)


def scatters() -> Iterator[Case]:
    """Rows and windows at computed places, of which some are the same; or elements of each row."""
    for body in (*map(joined, JOINS), updated("float32")):
        rows: Attrs = {
            "update_window_dims": (1,),
            "inserted_window_dims": (0,),
            "scatter_dims_to_operand_dims": (0,),
            "index_vector_dim": 1,
        }
        name = getattr(body.result, "operator", "update")
        value = scattered(body, x(3, 5), xi(4, 1, draw="places"), x(4, 5), **rows)
        yield Case("STABLEHLO_SCATTER", f"{name} of rows", value)
    turned: Attrs = {
        "update_window_dims": (0,),
        "inserted_window_dims": (1,),
        "scatter_dims_to_operand_dims": (1,),
        "index_vector_dim": 1,
    }
    starts = xi(7, draw="counts")
    value, oracle = (
        scattered(joined("STABLEHLO_ADD"), x(67, 5), each, x(67, 7), **turned)
        for each in (starts, typed("int32", "EXPAND_DIMS", starts, number(1, "int32")))
    )
    yield Case("STABLEHLO_SCATTER", "of many columns", value, oracle)
    windows: Attrs = {
        "update_window_dims": (1, 2),
        "scatter_dims_to_operand_dims": (1, 0),
        "index_vector_dim": 1,
    }
    for draw in ("places", "small"):
        operands = x(41, 43), xi(19, 2, draw=draw), x(19, 13, 7)
        value = scattered(joined("STABLEHLO_ADD"), *operands, **windows)
        yield Case("STABLEHLO_SCATTER", f"of windows at {draw}", value)
    elements: Attrs = {"inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1)}
    for dtype in ("int32", "int64"):
        operands = xi(5, 7, dtype=dtype), xi(3, 2, draw="places"), xi(3, dtype=dtype)
        value = scattered(joined("STABLEHLO_ADD", dtype), *operands, **elements, index_vector_dim=1)
        yield Case("STABLEHLO_SCATTER", f"of elements, {dtype}", value)
    for axis in (0, 1):
        counted = np.indices((5, 3))[1 - axis][..., None].astype(np.int32)
        columns: list[Value] = [known(counted), known(counted)]
        columns[axis] = call_of_places(5, 3)
        places = typed("int32", "CONCATENATION", *columns, axis=2)
        shape = [7, 3] if axis == 0 else [5, 7]
        for body in (joined("STABLEHLO_ADD"), updated("float32")):
            value = scattered(body, x(*shape), places, x(5, 3), **elements, index_vector_dim=2)
            name = getattr(body.result, "operator", "update")
            yield Case("STABLEHLO_SCATTER", f"{name} along axis {axis}", value)


def call_of_places(*shape: int) -> Value:
    """Places along an axis, computed by another operator."""
    return typed("int32", "ABS", xi(*shape, 1, draw="places"))


def updated(dtype: str) -> Body:
    """The subgraph that takes the second of two scalars."""
    operands = xi(dtype=dtype), xi(dtype=dtype)
    return Body(operands, operands[1])


def scattered(body: Body, operand: Input, indices: Value, updates: Input, **attrs: Any) -> Value:
    return typed(
        *(operand.dtype, "STABLEHLO_SCATTER", operand, indices, updates),
        **attrs,
        update_computation_subgraph_index=body,
    )


def dynamic_slices() -> Iterator[Case]:
    """LiteRT has no kernel for these; with indices, it has."""
    starts = xi(draw="counts"), xi(draw="counts")
    joined_starts = typed("int32", "PACK", *starts, axis=0, values_count=2)
    part = known(np.array([2, 3], np.int32))
    clamped = typed("int32", "MINIMUM", joined_starts, known(np.array([3, 4], np.int32)))
    value = call("STABLEHLO_DYNAMIC_SLICE", x(5, 7), *starts, slice_sizes=(2, 3))
    sliced = call("SLICE", x(5, 7), clamped, part)
    yield Case("STABLEHLO_DYNAMIC_SLICE", "of rows and columns", value, sliced)
    begin = xi(2, draw="places", dtype="int64")
    sliced = Call("SLICE", (x(5, 7), begin, known(np.array([2, 3], np.int64))))
    yield Case("SLICE", "from a computed place on", sliced)
    value = call("STABLEHLO_DYNAMIC_UPDATE_SLICE", x(5, 7), x(2, 3), *starts)
    oracle = call("DYNAMIC_UPDATE_SLICE", x(5, 7), x(2, 3), joined_starts)
    yield Case("STABLEHLO_DYNAMIC_UPDATE_SLICE", "of rows and columns", value, oracle)


TABLES = (windows, gathers, scatters, dynamic_slices)
