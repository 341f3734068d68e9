"""A PAD whose values can never be a maximum becomes the padding of the MAX_POOL_2D that reads it.

    t = PADV2(x, -inf)   y = MAX_POOL_2D(t) padding=VALID
    becomes   y = MAX_POOL_2D(x) padding=((top, bottom), (left, right))

The same holds for a PAD of zeros if the feature map has no negative values, as after a RELU, or
after a rounding to integers from 0.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op
from ...ops.base import OPS
from ...ops.pad import fill, paddings
from ...ops.pool import window
from ..rewrite import Declined, rewrite

LOWEST = float(np.finfo(np.float32).min)

NOT_NEGATIVE = frozenset(["ABS", "EXP", "LOGISTIC", "RELU", "RELU6", "RELU_0_TO_1", "SQUARE"])
"""Operators whose results are never negative."""


@rewrite({"PAD", "PADV2"}, "MAX_POOL_2D")
def fold_pad_into_pool(graph: Graph, pad: Op, pool: Op) -> Declined | None:
    image = pad.operand(0)
    if len(image.shape) != 4:
        return Declined(f"the feature map has rank {len(image.shape)}")
    batch, rows, columns, channels = paddings(pad)
    if any((*batch, *channels)):
        return Declined("it pads the batch or the channels")
    if fill(pad) > _least(graph.producer(image)):
        return Declined(f"the padding value {fill(pad)} may be a maximum")
    own = window(pool)
    top, bottom = rows[0] + own.top, rows[1] + own.bottom
    left, right = columns[0] + own.left, columns[1] + own.right
    down = (top, own.height, own.stride_y, image.shape[1], pool.output.shape[1])
    along = (left, own.width, own.stride_x, image.shape[2], pool.output.shape[2])
    if not _sees_pixels(*down) or not _sees_pixels(*along):
        return Declined("a window lies entirely in the padding")
    pool.attrs = {**pool.attrs, "padding": ((top, bottom), (left, right))}
    graph.bypass(pad)
    return None


def _least(producer: Op | None) -> float:
    """The least number that an operator may result in."""
    if producer is None:
        return LOWEST
    if producer.name in NOT_NEGATIVE:
        return 0.0
    range_of = OPS[producer.name].traits.range
    known = range_of(producer, [None] * len(producer.inputs)) if range_of else None
    return LOWEST if known is None else float(known[0])


def _sees_pixels(before: int, window: int, stride: int, size: int, windows: int) -> bool:
    """Whether the first and the last window along an axis overlap the image."""
    return before < window and (windows - 1) * stride - before < size
