"""Operators that return their input unchanged go away.

y = RESHAPE(x)   with the shape of x:   readers of y read x
"""

from __future__ import annotations

import numpy as np

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ..rewrite import check

SHAPE_CHANGES = frozenset(
    [
        "BATCH_TO_SPACE_ND",
        "BROADCAST_TO",
        "DEPTH_TO_SPACE",
        "EXPAND_DIMS",
        "MIRROR_PAD",
        "PAD",
        "PADV2",
        "RESHAPE",
        "RESIZE_BILINEAR",
        "RESIZE_NEAREST_NEIGHBOR",
        "SLICE",
        "SPACE_TO_BATCH_ND",
        "SPACE_TO_DEPTH",
        "SPLIT",
        "SPLIT_V",
        "SQUEEZE",
        "TILE",
    ]
)
"""Operators that do nothing if the shape stays the same."""

NEUTRAL = {"ADD": 0.0, "SUB": 0.0, "MUL": 1.0, "DIV": 1.0}
"""Constants that, as second operand, change nothing."""


def drop_identity(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it wherever the readers can read the input instead."""
    events = []
    for op in graph.ops:
        known = op.name in OPS and op.output.dtype in OPS[op.name].dtypes
        if known and not op.post and _does_nothing(op):
            events.append(Event("drop_identity", (describe(op),), None))
            graph.replace(op.output, _source(op))
            graph.remove(op)
            check(graph, "drop_identity")
    return events


def _source(op: Op) -> Tensor:
    """The input that may be all there is to the output."""
    return op.operand(1 if op.name == "SPLIT" else 0)


def _does_nothing(op: Op) -> bool:
    if len(op.outputs) != 1 or op.input(0) is None or _source(op).shape != op.output.shape:
        return False
    if op.name in SHAPE_CHANGES:
        return True
    if op.name == "TRANSPOSE":
        order = op.constant(1).reshape(-1)
        return bool((order == np.arange(len(order))).all())
    if op.name == "CONCATENATION":
        return len(op.inputs) == 1
    if op.name == "STRIDED_SLICE":
        return not (op.constant(3) < 0).any()
    if op.name in NEUTRAL:
        other = op.operand(1)
        return other.data is not None and bool((other.data == NEUTRAL[op.name]).all())
    return False
