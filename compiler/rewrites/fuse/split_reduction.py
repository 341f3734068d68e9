"""A reduction of a large image becomes several, so that a GPU has enough to do.

y = REDUCE_MAX(x[1,384,384,8]) over rows, columns and channels
becomes   v = RESHAPE(x): [1,72,2048,8]   p = REDUCE_MAX(v) over rows
          q = REDUCE_MAX(p) over columns   y = REDUCE_MAX(q) over channels

A single work-group for each slice of channels, or for all of them, would leave most of the device
idle. The view launches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops.base import slice_count
from ...ops.lines import group_size
from ...ops.reduce import REDUCTIONS, axes, nan_by_place
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .fuse_fully_connected_chain import LARGEST_IMAGE

LARGEST_ROW = 1 << 12
"""Values of an image that a work-group reduces together with its channels."""

MIN_PIXELS = 16
"""Fewest pixels for each work-item of a group that are worth another launch."""


@graph_rewrite()
def split_reduction(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Before elementwise operators are fused with the last of them."""
    for op in graph.ops:
        if target.on_processor or op.name not in REDUCTIONS or not _of_images(op):
            continue
        reason = nan_by_place(op, target)
        if reason is not None:
            yield Attempt((op,), reason)
            continue
        parts, reduced = _parts(op, target), axes(op)
        steps: list[tuple[int, ...]] = [(1, 2)] if parts == 1 else [(1,), (2,)]
        steps += [(3,)] if 3 in reduced else []
        yield Attempt((op,), "it has enough work-items as it is" if len(steps) == 1 else None)
        if len(steps) > 1:
            _split(graph, op, parts, steps)


def _of_images(op: Op) -> bool:
    """Whether it reduces all pixels of large images of floats, whose channels lie in slices."""
    x = op.operand(0)
    if len(x.shape) != 4 or x.dtype != "float32" or not op.attrs.get("keep_dims"):
        return False
    reduced = set(axes(op))
    most = LARGEST_ROW if 3 in reduced else LARGEST_IMAGE
    return {1, 2} <= reduced <= {1, 2, 3} and x.elements > most


def _parts(op: Op, target: Target) -> int:
    """How many parts of equal size the pixels are split into; 1 if that does not pay."""
    batch, height, width, channels = op.operand(0).shape
    pixels, slices = height * width, batch * slice_count(channels, target)
    items = group_size(pixels, target)
    if slices * items >= target.device.work_items or pixels < MIN_PIXELS * items:
        return 1
    most = target.device.work_items // slices
    parts = max(count for count in range(1, most + 1) if pixels % count == 0)
    return parts if parts > items else 1


def _split(graph: Graph, op: Op, parts: int, steps: Sequence[tuple[int, ...]]) -> None:
    """Parts are columns, so that neighbouring work-items read neighbouring pixels."""
    value, name = op.operand(0), op.output.name
    if parts > 1:
        batch, height, width, channels = value.shape
        shape = (batch, height * width // parts, parts, channels)
        view = Tensor(f"{name}/parts", shape, value.dtype)
        graph.add(Op("RESHAPE", (value,), (view,), {"new_shape": shape}, op.index))
        value = view
    for number, reduced in enumerate(steps):
        over = constant(f"{name}/axes_{number}", np.array(reduced, np.int32))
        if number == len(steps) - 1:
            graph.set_inputs(op, (value, over))
            return
        size = tuple(1 if axis in reduced else each for axis, each in enumerate(value.shape))
        partial = Tensor(f"{name}/step_{number}", size, value.dtype, kept=True)
        graph.add(Op(op.name, (value, over), (partial,), op.attrs, op.index))
        value = partial
