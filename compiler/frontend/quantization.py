"""The quantization of a tensor in a file.

The table BlockwiseQuantization is newer than the `tflite` package. It refers to the tensors that
hold the scale and, optionally, the zero point of each block.
"""

from math import inf
from typing import Any

from flatbuffers.number_types import Int32Flags

from ..errors import ModelError
from ..ir import Quantization
from .flatbuffer import Source


def read_quantization(source: Source, table: Any, rank: int) -> Quantization | None:
    """The scales and zero points of a tensor of that rank; None without scales (ModelError)."""
    parameters = table.Quantization()
    scale = () if parameters is None else source.numbers(parameters, "Scale")
    if not scale:
        return None
    zero_point = source.numbers(parameters, "ZeroPoint") or (0,)
    if len(zero_point) == 1:
        zero_point *= len(scale)
    if len(zero_point) != len(scale):
        raise ModelError(f"it has {len(scale)} scales and {len(zero_point)} zero points")
    if not all(0 <= factor < inf for factor in scale):
        raise ModelError(f"its quantization scale {scale[:3]} is negative, infinite or NaN")
    axis = parameters.QuantizedDimension()
    if len(scale) > 1 and not 0 <= axis < rank:
        raise ModelError(f"it is quantized along axis {axis}, but has {rank} axes")
    return Quantization(scale, zero_point, axis)


DETAILS = 2  # Its number in the union QuantizationDetails.
_SLOTS = 4  # Slots of the vtable that is written.


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
