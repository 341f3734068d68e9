"""SPARSE_TO_DENSE: values at given places, and one value everywhere else; shapes only.

`rewrites/decompose/indices.py` decomposes it.
"""

from math import prod

import numpy as np

from ..ir import Array, Op, Shape
from .base.definition import define
from .base.storage import ANY


def places(op: Op) -> Array:
    """For each index, its place among the elements of the result, shape [count] (ModelError)."""
    shape, indices = _infer(op)[0], op.constant(0)
    rows = indices.reshape(-1, indices.shape[1] if indices.ndim == 2 else 1)
    try:
        return np.asarray(np.ravel_multi_index(tuple(rows.T), shape))
    except ValueError:
        raise op.invalid(f"an index is out of range for {list(shape)}") from None


def _infer(op: Op) -> list[Shape]:
    shape = tuple(op.integers(1))
    indices, values = op.operand(0).shape, op.operand(2).shape
    depth = indices[1] if len(indices) == 2 else 1
    count = prod(indices[:1])
    if len(indices) > 2 or depth != len(shape) or values not in ((), (count,)):
        raise op.invalid(
            f"indices {list(indices)} and values {list(values)} do not match the shape "
            f"{list(shape)}"
        )
    if op.operand(3).elements != 1:
        raise op.invalid(f"its default {op.operand(3).name} is no scalar")
    return [shape]


define(
    "SPARSE_TO_DENSE indices:integer shape:integer values:T default:T -> y:T",
    _infer,
    dtypes=ANY,
    note="becomes GATHER; the indices must be constants",
)
