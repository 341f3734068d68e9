"""Blockwise quantization in a .tflite file: a table newer than the `tflite` package.

It names the tensors that hold a scale, and perhaps a zero point, for each block of weights.
"""

from __future__ import annotations

from typing import Any

from flatbuffers.number_types import Int32Flags

DETAILS = 2
"""Its number in the union QuantizationDetails."""

_SLOTS = 4


def read_blocks(parameters: Any) -> tuple[int, int, int] | None:
    """Indices of the tensors of scales and zero points (-1: none), and the size of a block."""
    table = parameters.Details() if parameters.DetailsType() == DETAILS else None
    if table is None:
        return None
    values = []
    for slot in range(3):
        offset = table.Offset(4 + 2 * slot)
        values.append(table.Get(Int32Flags, table.Pos + offset) if offset else 0)
    scales, zero_points, size = values
    return scales, zero_points, size


def write_blocks(builder: Any, scales: int, zero_points: int, size: int) -> int:
    """The table's offset."""
    builder.StartObject(_SLOTS)
    for slot, value in enumerate((scales, zero_points, size)):
        builder.PrependInt32Slot(slot, value, 0)
    return int(builder.EndObject())
