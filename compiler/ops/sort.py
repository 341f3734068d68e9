"""STABLEHLO_SORT, and tflgpu.sort: the last axis in order, and the places the values had.

Equal values keep their order. TOPK_V2 and tflgpu.sort of long rows are computed in steps by
`top_k.py`; the kernel here compares all pairs of a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape
from ..target import Target
from .base import (
    ANY,
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    define,
    linear_grid,
    normalize_axis,
)

SORT = "tflgpu.sort"
"""x -> values, places. Attributes: `falling`, whether the largest is first, and `nan_first`."""


def axis_of(op: Op) -> int:
    """The axis that a STABLEHLO_SORT sorts (ModelError)."""
    return normalize_axis(op, int(op.attrs.get("dimension", -1)), len(op.operand(0).shape))


def _infer_stablehlo(op: Op) -> list[Shape]:
    shapes = [op.operand(i).shape for i in range(len(op.inputs))]
    if len(set(shapes)) > 1:
        raise ModelError(f"operator {op!r}: its operands have the shapes {list(set(shapes))}")
    axis_of(op)
    return shapes


def _infer(op: Op) -> list[Shape]:
    return [op.operand(0).shape] * 2


def _build(op: Op, target: Target) -> Sequence[Launch]:
    x = op.operand(0)
    size = x.shape[-1]
    values, places = op.outputs
    return [
        Launch(
            "sort/top.jinja",
            linear_grid(x.elements),
            {"x": x},
            {"y": values, "places": places},
            variables={**op.attrs, "size": size, "count": size},
            flops=x.elements * size,
        )
    ]


def _reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    values = arrays[0]
    floats = values.dtype.kind == "f"
    nan = np.isnan(values) if floats else np.zeros(values.shape, bool)
    keys = np.where(nan, 0, values).astype(values.dtype if floats else np.int64)
    keys = -keys if op.attrs["falling"] else keys
    places = np.lexsort((keys, nan != op.attrs["nan_first"]), -1)
    return [np.take_along_axis(values, places, -1), places.astype(np.int32)]


_KERNELS = (Implementation("top", _build, reads=LINEAR, writes=LINEAR, fuses=False),)

define(
    OpDef(SORT, _infer, _KERNELS, _reference, ANY),
    OpDef(
        "STABLEHLO_SORT",
        _infer_stablehlo,
        dtypes=ANY,
        note="by one operand, rising or falling; zeros of either sign are equal; LiteRT has no "
        "kernel",
    ),
)
