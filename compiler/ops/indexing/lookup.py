"""tflgpu.lookup: rows of a table of integers of 8 or 4 bits, which indices name, as floats.

    y = tflgpu.lookup(ids, table) bits=4 shape=(32000,512)

A table of four bits has two numbers in a byte, the first in its lower half, each plus 8.
"""

from math import prod

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_launch
from ..base.storage import ANY
from ..base.traits import Traits

NAME = "tflgpu.lookup"

LEAST = -8  # The number of four bits that is stored as 0.


def in_halves(values: Array) -> Array:
    """Numbers of four bits, two in a byte, as a table has them."""
    numbers = (values.reshape(-1) - LEAST).astype(np.uint8)
    pairs = np.resize(numbers, -(-len(numbers) // 2) * 2).reshape(-1, 2)
    return np.asarray(pairs[:, 0] | pairs[:, 1] << 4, np.uint8)


def _reference(op: Op, ids: Array, table: Array) -> Array:
    shape = op.attrs["shape"]
    if op.attrs["bits"] == 4:
        halves = np.stack([table & 15, table >> 4], -1).reshape(-1)[: prod(shape)]
        table = halves.astype(np.float32) + LEAST
    return np.asarray(table.reshape(shape)[np.clip(ids, 0, shape[0] - 1)], np.float32)


def _build(op: Op, target: Target) -> Launch:
    size, *inner = op.attrs["shape"]
    return linear_launch(
        op,
        "move/lookup.jinja",
        reads={"indices": op.operand(0), "x": op.operand(1)},
        variables={"size": size, "inner": prod(inner), "bits": op.attrs["bits"]},
        limits={"indices": (size,)},
    )


define(
    NAME,
    lambda op: [(*op.operand(0).shape, *op.attrs["shape"][1:])],
    (row_major("lookup", _build),),
    _reference,
    ANY,
    traits=Traits(indexes=True),
)
