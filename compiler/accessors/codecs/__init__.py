"""Codecs: how values lie in memory, and what kernels make of them.

A codec knows nothing of shapes; layouts say at which index of the array a value is.
"""

from dataclasses import replace

from ...ops.base.storage import Lane
from .codec import Codec, ElementCodec, Join, SliceCodec
from .floats import Floats
from .halves import Half, HalfNumbers, Halves, PairedHalves
from .numbers import Numbers, Packed
from .whole import BYTES, NIBBLES, SHORTS, byte_table


def slice_codec(lane: Lane, half: bool) -> SliceCodec:
    """The codec of slices of such lanes; with `half` the kernel computes in half precision."""
    codecs: dict[str, SliceCodec] = {
        "float32": Floats(),
        "float16": Halves() if half else Half(),
        "uint8": replace(NIBBLES if lane.halved else BYTES, least=lane.base),
        "uint16": replace(SHORTS, least=lane.base),
        "uint32": Floats(),  # Their bits.
    }
    return codecs[lane.dtype]
