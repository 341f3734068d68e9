"""TOPK_V2, STABLEHLO_SORT and tflgpu.sort: the last axis in order, and the places the values had.

Equal values keep their order. One kernel compares all pairs of a row. On processors, TOPK_V2 keeps
the largest values of a long row in a heap. Elsewhere it is computed in steps, as tflgpu.sort is:
tflgpu.top_of_blocks, then tflgpu.merge_tops repeatedly. Each step keeps the first `count` values of
every stretch of a row, in the order that `falling` and `nan_first` say, with their positions in the
whole row. A stretch of the first step is a block of `length` values; a stretch of a merge is
`lists` lists of the previous step, each of `length` values; the last of a row may have less.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Build, Implementation, Reason, define, no_reason, row_major
from ..base.launch import Launch, linear_grid, linear_launch
from ..base.parts import power_of_two
from ..base.shapes import normalize_axis
from ..base.storage import ANY

# x -> values, places. Attributes: `falling`, whether the largest is first, and `nan_first`.
SORT = "tflgpu.sort"
BLOCKS = "tflgpu.top_of_blocks"
MERGE = "tflgpu.merge_tops"

# Values of a row from which all pairs are too many to compare, measured on PoCL and llvmpipe.
LONG = 768
FEW_RATIO = 8  # Values of a shorter row per kept value from which a heap is worthwhile.


def axis_of(op: Op) -> int:
    """The axis that a STABLEHLO_SORT sorts (ModelError)."""
    return normalize_axis(op, int(op.attrs.get("dimension", -1)), len(op.operand(0).shape))


def _infer_stablehlo(op: Op) -> list[Shape]:
    shapes = [op.operand(i).shape for i in range(len(op.inputs))]
    if len(set(shapes)) > 1:
        raise op.invalid(f"its operands have the shapes {list(set(shapes))}")
    axis_of(op)
    return shapes


def _build(op: Op, target: Target) -> Launch:
    x = op.operand(0)
    values, places = op.outputs
    return Launch(
        "sort/top.jinja",
        linear_grid(x.elements),
        {"x": x},
        {"y": values, "places": places},
        variables={
            "falling": op.attrs.get("falling", True),
            "nan_first": op.attrs.get("nan_first", False),
            "size": x.shape[-1],
            "count": values.shape[-1],
        },
        flops=x.elements * x.shape[-1],
    )


def _reference(op: Op, values: Array) -> Sequence[Array]:
    floats = values.dtype.kind == "f"
    nan = np.isnan(values) if floats else np.zeros(values.shape, bool)
    keys = np.where(nan, 0, values).astype(values.dtype if floats else np.int64)
    keys = -keys if op.attrs["falling"] else keys
    places = np.lexsort((keys, nan != op.attrs["nan_first"]), -1)
    return [np.take_along_axis(values, places, -1), places.astype(np.int32)]


def _infer_top(op: Op) -> list[Shape]:
    shape, count = op.operand(0).shape, int(op.number(1))
    if not shape or not 0 <= count <= shape[-1]:
        raise op.invalid(f"cannot take {count} values along the last axis of {list(shape)}")
    return [(*shape[:-1], count)] * 2


def _reference_top(op: Op, values: Array, count: Array) -> Sequence[Array]:
    falling = -values if values.dtype.kind == "f" else -values.astype(np.int64)
    places = np.argsort(falling, -1, kind="stable")[..., : int(count.reshape(-1)[0])]
    return [np.take_along_axis(values, places, -1), places.astype(op.outputs[1].dtype)]


def in_a_heap(size: int, count: int, target: Target) -> bool:
    """Whether one work-item had better find the largest `count` of `size` values alone."""
    return target.on_processor and count > 0 and (size >= LONG or count <= size // FEW_RATIO)


def _too_many(op: Op, target: Target) -> str | None:
    size, count = op.operand(0).shape[-1], op.output.shape[-1]
    if in_a_heap(size, count, target):
        return None
    return f"a heap of {count} of {size} values is slow"


def _heap(op: Op, target: Target) -> Launch:
    launch = _build(op, target)
    count = op.output.shape[-1]
    grid = (op.output.elements // count, 1, 1)
    flops = op.operand(0).elements + op.output.elements * count.bit_length()
    template = "sort/top_heap.jinja"
    return replace(launch, template=template, grid=grid, flops=flops, heavy=True)


def _span(op: Op) -> int:
    """Values of a stretch."""
    return int(op.attrs["length"] * op.attrs.get("lists", 1))


def infer(op: Op) -> list[Shape]:
    """Values and positions kept of each row: at most `count` per stretch."""
    *rows, size = op.operand(0).shape
    whole, rest = divmod(size, _span(op))
    count = op.attrs["count"]
    return [(*rows, whole * min(count, _span(op)) + min(count, rest))] * 2


def _launch(op: Op, template: str, steps: int) -> Launch:
    """One work-item per value, which takes `steps` comparisons with others."""
    values = op.operand(0)
    size, span = values.shape[-1], _span(op)
    rows, blocks = values.elements // size, -(-size // span)
    reads = dict(zip(("x", "origins"), op.reads, strict=False))
    return Launch(
        template,
        (min(span, size), rows * blocks, 1),
        reads,
        {"y": op.outputs[0], "places": op.outputs[1]},
        variables={
            **op.attrs,
            "count": min(op.attrs["count"], span),
            "size": size,
            "rows": rows,
            "blocks": blocks,
            "kept": op.output.shape[-1],
            "step": power_of_two(op.attrs["length"]),
        },
        flops=values.elements * steps,
    )


def _build_merge(op: Op, target: Target) -> Launch:
    return _launch(op, "sort/top_merge.jinja", op.attrs["lists"] * op.attrs["length"].bit_length())


def _kernel(name: str, build: Build, reason: Reason = no_reason) -> tuple[Implementation]:
    return (row_major(name, build, reason, fuses=False),)


define(
    "TOPK_V2 x:T k:integer -> values:T indices:int16|int32",
    _infer_top,
    (*_kernel("top_heap", _heap, _too_many), *_kernel("top", _build)),
    _reference_top,
    ANY,
    note="k must be a constant",
    versions=3,
)
define(SORT, lambda op: [op.operand(0).shape] * 2, _kernel("top", _build), _reference, ANY)
define(
    "STABLEHLO_SORT operands+ -> results+",
    _infer_stablehlo,
    dtypes=ANY,
    note="by one operand, rising or falling; zeros of either sign are equal; LiteRT has no kernel",
)
define(
    BLOCKS,
    infer,
    _kernel("top_blocks", lambda op, _: _launch(op, "sort/top_blocks.jinja", op.attrs["length"])),
    dtypes=ANY,
)
define(MERGE, infer, _kernel("top_merge", _build_merge), dtypes=ANY)


def _boundaries(op: Op) -> Array:
    """The boundaries, float32, in ascending order (ModelError)."""
    found: Array = np.asarray(op.attrs.get("boundaries", ()), np.float32)
    if not found.size or not (found[1:] >= found[:-1]).all():
        raise op.invalid("its boundaries are missing or not in order")
    return found


def _infer_buckets(op: Op) -> list[Shape]:
    _boundaries(op)
    return [op.operand(0).shape]


def _bucketize(op: Op, target: Target) -> Launch:
    boundaries = _boundaries(op)
    return linear_launch(
        op,
        "sort/bucketize.jinja",
        constants={"boundaries": boundaries},
        variables={"count": boundaries.size},
        flops=op.output.elements * int(boundaries.size).bit_length(),
    )


_BUCKETIZE = row_major("bucketize", _bucketize)

define(
    "BUCKETIZE x -> y:int32",
    _infer_buckets,
    (_BUCKETIZE,),
    lambda op, x: np.searchsorted(_boundaries(op), x.astype(np.float32), "right"),
    ("float32", "int32", "int64"),
)
