"""BUCKETIZE: the number of boundaries that are not above an element."""

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from .base.definition import define, row_major
from .base.launch import Launch, linear_launch


def _boundaries(op: Op) -> Array:
    """The boundaries, float32, in ascending order (ModelError)."""
    found: Array = np.asarray(op.attrs.get("boundaries", ()), np.float32)
    if not found.size or not (found[1:] >= found[:-1]).all():
        raise op.invalid("its boundaries are missing or not in order")
    return found


def _infer(op: Op) -> list[Shape]:
    _boundaries(op)
    return [op.operand(0).shape]


def _build(op: Op, target: Target) -> Launch:
    boundaries = _boundaries(op)
    return linear_launch(
        op,
        "sort/bucketize.jinja",
        constants={"boundaries": boundaries},
        variables={"count": boundaries.size},
        flops=op.output.elements * int(boundaries.size).bit_length(),
    )


_KERNEL = row_major("bucketize", _build)

define(
    "BUCKETIZE x -> y:int32",
    _infer,
    (_KERNEL,),
    lambda op, x: np.searchsorted(_boundaries(op), x.astype(np.float32), "right"),
    ("float32", "int32", "int64"),
)
