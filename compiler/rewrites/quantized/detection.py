"""TFLite_Detection_PostProcess of encodings of 8 bits: LiteRT decodes the boxes in float64.

    centre = encoding / scale * extent + anchor
    half of the size = exp(encoding / scale) / 2 * extent

What depends on the encoding alone is an entry of a table, as the sum of two floats. A product of
such a sum, plus a float, is computed with about 48 bits and rounded once, as LiteRT does.
"""

import numpy as np

from ...ir import Array, Tensor
from ..decompose.decomposition import Results
from ..decompose.detection import box_scales, corners, detections, encodings, halves
from .lowering import INTEGERS, Lowering, lowers

ENTRIES = 256  # In the table of a column of encodings.


@lowers("TFLite_Detection_PostProcess")
def detection(here: Lowering) -> Results:
    """All but decoding is computed with real numbers; the results are floats.

    So is decoding if the encodings do not have 8 bits, or sizes may exceed the largest float.
    """
    op = here.op
    coded, scores, anchors = (op.operand(0), *(_real(here, op.operand(i)) for i in (1, 2)))
    entries = _entries(here, coded) if coded.dtype in ("int8", "uint8") else np.array(np.inf)
    if np.abs(entries).max() > np.finfo(np.float32).max:
        operands = _real(here, coded), scores, anchors
        types = [tensor.dtype for tensor in op.outputs]
        return here.several(op.name, operands, types, **op.attrs)
    places, extents = halves(here, anchors)
    nothing = here.constant(np.zeros(places.shape))
    decoded = here.add(
        "tflgpu.multiply_add_wide",
        *_looked_up(here, coded, entries),
        here.add("CONCATENATION", extents, extents, axis=1),
        here.add("CONCATENATION", places, nothing, axis=1),
    )
    return detections(here, corners(here, *halves(here, decoded)), scores)


def _real(here: Lowering, tensor: Tensor) -> Tensor:
    if tensor.dtype not in INTEGERS or tensor.quantization is None:
        return tensor
    return here.add("tflgpu.dequantize", here.centered(tensor), scale=float(here.scale(tensor)))


def _entries(here: Lowering, coded: Tensor) -> Array:
    """What anchors' extents are multiplied by, float64, for each column and encoding in order."""
    least, most = INTEGERS[coded.dtype]
    zero, scale = here.zero(coded), here.scale(coded)
    numbers = np.arange(least - zero, most - zero + 1, dtype=np.float32) * scale
    columns = [numbers.astype(np.float64) / np.float32(s) for s in box_scales(here.op)]
    with np.errstate(over="ignore"):
        columns[2:] = [np.exp(column) / 2 for column in columns[2:]]
        return np.concatenate(columns)


def _looked_up(here: Lowering, coded: Tensor, entries: Array) -> tuple[Tensor, Tensor]:
    """The entries of encodings, [boxes, 4], as the sum of two floats."""
    values = encodings(here, here.centered(coded))
    starts = here.constant([[ENTRIES * column for column in range(4)]])
    index = here.add("tflgpu.add_exact", values, starts)
    high = entries.astype(np.float32)
    offset = here.zero(coded) - INTEGERS[coded.dtype][0]

    def entry(table: Array) -> Tensor:
        return here.add("tflgpu.look_up", index, here.constant(table), offset=offset)

    return entry(high), entry(entries - high)
