"""The BlockwiseQuantization table of a .tflite file, which is newer than the `tflite` package.

It refers to the tensors that hold the scale and, optionally, the zero point of each block.
"""

from __future__ import annotations

from typing import Any

from flatbuffers.number_types import Int32Flags

DETAILS = 2
"""Its number in the union QuantizationDetails."""

_SLOTS = 4
"""Slots of the vtable that is written."""


def read_blocks(parameters: Any) -> tuple[int, int, int] | None:
    """Tensor indices of scales and zero points (-1: none), and the block size; None if absent."""
    table = parameters.Details() if parameters.DetailsType() == DETAILS else None
    if table is None:
        return None
    # The fields are read by their slots in the vtable, since there is no generated class.
    values = []
    for slot in range(3):
        offset = table.Offset(4 + 2 * slot)
        values.append(table.Get(Int32Flags, table.Pos + offset) if offset else 0)
    scales, zero_points, size = values
    return scales, zero_points, size


def write_blocks(builder: Any, scales: int, zero_points: int, size: int) -> int:
    """Write the table; returns its offset."""
    builder.StartObject(_SLOTS)
    for slot, value in enumerate((scales, zero_points, size)):
        builder.PrependInt32Slot(slot, value, 0)
    return int(builder.EndObject())
