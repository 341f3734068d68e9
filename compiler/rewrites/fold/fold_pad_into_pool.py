"""A PAD that no maximum can see becomes the pooling's own padding.

    t = PADV2(x, -inf)   y = MAX_POOL_2D(t) padding=VALID
    becomes   y = MAX_POOL_2D(x) padding=((top, bottom), (left, right))

So does a PAD of zeros where the picture holds nothing below zero, as behind a RELU. Of any other
picture the zeros may be the maximum, and averages count them.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op
from ...ops.pad import fill, paddings
from ...ops.pool import window
from ..rewrite import Declined, rewrite

LOWEST = float(np.finfo(np.float32).min)

NOT_NEGATIVE = frozenset(["ABS", "EXP", "LOGISTIC", "RELU", "RELU6", "RELU_0_TO_1", "SQUARE"])
"""Operators that give nothing below zero."""


@rewrite({"PAD", "PADV2"}, "MAX_POOL_2D")
def fold_pad_into_pool(graph: Graph, pad: Op, pool: Op) -> Declined | None:
    picture = pad.operand(0)
    if len(picture.shape) != 4:
        return Declined(f"the picture has rank {len(picture.shape)}")
    batch, rows, columns, channels = paddings(pad)
    if any((*batch, *channels)):
        return Declined("it pads the batch or the channels")
    producer = graph.producer(picture)
    least = 0.0 if producer is not None and producer.name in NOT_NEGATIVE else LOWEST
    if fill(pad) > least:
        return Declined(f"{fill(pad)} may be a maximum")
    own = window(pool)
    top, bottom = rows[0] + own.top, rows[1] + own.bottom
    left, right = columns[0] + own.left, columns[1] + own.right
    down = (top, own.height, own.stride_y, picture.shape[1], pool.output.shape[1])
    along = (left, own.width, own.stride_x, picture.shape[2], pool.output.shape[2])
    if not _sees_pixels(*down) or not _sees_pixels(*along):
        return Declined("a window lies in the padding as a whole")
    pool.attrs = {**pool.attrs, "padding": ((top, bottom), (left, right))}
    graph.bypass(pad)
    return None


def _sees_pixels(before: int, window: int, stride: int, size: int, windows: int) -> bool:
    """Whether the first and the last window along an axis reach the picture."""
    return before < window and (windows - 1) * stride - before < size
