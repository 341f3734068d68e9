"""tflgpu.lookup: rows of a table, which indices name, as floats.

    y = tflgpu.lookup(ids, table) bits=4 shape=(32000,512) least=-8 signed=False

The numbers of a table are floats of 32 bits, or integers of 8 or 4, with a sign or without one, of
which a stored 0 stands for `least`. Two of 4 bits share a byte: the lower halves of bytes are `run`
numbers, the upper ones as many that follow.

A table is row-major, or in the order in which a layer has it as its weights: blocks of so many
rows, of each of which so many columns, `unit`, lie together. In numpy, once rows and columns are
filled up, that is

    table.reshape(-1, block, columns // unit, unit).swapaxes(1, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from typing import Any

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_launch
from ..base.storage import ANY
from ..base.traits import Range, Traits
from ..layers.weights import LEAST

NAME = "tflgpu.lookup"


def in_halves(values: Array) -> Array:
    """Numbers of four bits, two in a byte, as a row-major table has them."""
    numbers = (values.reshape(-1) - LEAST[4]).astype(np.uint8)
    pairs = np.resize(numbers, -(-len(numbers) // 2) * 2).reshape(-1, 2)
    return np.asarray(pairs[:, 0] | pairs[:, 1] << 4, np.uint8)


def from_halves(pairs: Array) -> Array:
    """The numbers of four bits of such a table, int8 [number]."""
    return (np.stack([pairs & 15, pairs >> 4], -1).astype(np.int8) + LEAST[4]).reshape(-1)


@dataclass(frozen=True)
class TableOrder:
    """The order of a table's numbers, and how integers are stored; the attributes of a lookup."""

    block: int = 1
    unit: int = 1
    run: int = 1
    least: int = 0
    signed: bool = True

    @classmethod
    def of(cls, op: Op) -> TableOrder:
        names = (field.name for field in fields(cls))
        return cls(**{name: op.attrs[name] for name in names if name in op.attrs})

    def place(self, row: Any, column: Any, columns: int) -> Any:
        """Which number is in a row and a column, arrays or expressions, of so many columns."""
        units = -(-columns // self.unit)
        place = row // self.block * units + column // self.unit
        return (place * self.block + row % self.block) * self.unit + column % self.unit


def _reference(op: Op, ids: Array, table: Array) -> Array:
    size, *inner = op.attrs["shape"]
    order, columns = TableOrder.of(op), prod(inner)
    rows = np.clip(ids, 0, size - 1).astype(np.int64)[..., None]
    places = order.place(rows, np.arange(columns), columns)
    if op.attrs["bits"] == 4:
        run = order.run
        both = table.reshape(-1)[places // (2 * run) * run + places % run].astype(np.int32)
        numbers = np.where(places // run % 2 < 1, both % 16, both // 16)
        numbers = (numbers + 8) % 16 - 8 if order.signed else numbers
    else:
        numbers = table.reshape(-1)[places]
    found = numbers.astype(np.float32) + np.float32(order.least)
    return np.asarray(found.reshape(*ids.shape, *inner))


def _range(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    """That of all integers of so many bits."""
    order, bits = TableOrder.of(op), op.attrs["bits"]
    low = order.least - (1 << bits - 1) * order.signed
    return None if bits == 32 else (low, low + (1 << bits) - 1)


def _build(op: Op, target: Target) -> Launch:
    size, *inner = op.attrs["shape"]
    return linear_launch(
        op,
        "move/lookup.jinja",
        reads={"indices": op.operand(0), "x": op.operand(1)},
        variables={
            "size": size,
            "inner": prod(inner),
            "bits": op.attrs["bits"],
            "order": TableOrder.of(op),
        },
        limits={"indices": (op.attrs.get("limit", size),)},
    )


define(
    NAME,
    lambda op: [(*op.operand(0).shape, *op.attrs["shape"][1:])],
    (row_major("lookup", _build),),
    _reference,
    ANY,
    traits=Traits(range=_range),
)
