"""Accessors: how the text of a kernel indexes a tensor, by its storage.

Input are coordinates as integer expressions in kernel text; output is kernel text that reads or
writes memory. Image buffers, which only OpenCL C has, have their own accessor.
"""

from .accessor import Accessor, Unreachable, accessor, image, joined
from .linear import LinearAccessor
from .narrow import (
    ByteAccessor,
    HalfAccessor,
    HalfRowsAccessor,
    HalvesAccessor,
    HalvesImageAccessor,
    JoinedHalvesAccessor,
    PairsAccessor,
    WholeAccessor,
)
from .position import Position
from .sliced import FoursAccessor, ImageAccessor, RowsAccessor, SlicedAccessor, WholeRowsAccessor

__all__ = [
    "Accessor",
    "ByteAccessor",
    "FoursAccessor",
    "HalfAccessor",
    "HalfRowsAccessor",
    "HalvesAccessor",
    "HalvesImageAccessor",
    "ImageAccessor",
    "JoinedHalvesAccessor",
    "LinearAccessor",
    "PairsAccessor",
    "Position",
    "RowsAccessor",
    "SlicedAccessor",
    "Unreachable",
    "WholeAccessor",
    "WholeRowsAccessor",
    "accessor",
    "image",
    "joined",
]
