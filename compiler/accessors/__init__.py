"""How kernels reach tensors: the one place that knows how each storage is indexed.

An accessor turns coordinates, which are texts of integer expressions, into texts that access
memory. Images of buffers, which only OpenCL C has here, have an accessor of their own.
"""

from .accessor import Accessor, Unreachable, accessor, image
from .linear import LinearAccessor
from .position import Position
from .sliced import HalfAccessor, ImageAccessor, RowsAccessor, SlicedAccessor

__all__ = [
    "Accessor",
    "HalfAccessor",
    "ImageAccessor",
    "LinearAccessor",
    "Position",
    "RowsAccessor",
    "SlicedAccessor",
    "Unreachable",
    "accessor",
    "image",
]
