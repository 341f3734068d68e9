"""Accessors: how the text of a kernel indexes a tensor, by its storage.

Input are coordinates as integer expressions in kernel text; output is kernel text that reads or
writes memory. An accessor is a layout (channel slices, rows, elements), a codec (floats, halves,
integers of some width) and the memory (a buffer, or an image in OpenCL C).
"""

from .accessor import Accessor
from .choice import Unreachable, accessor
from .linear import Linear
from .memory import Buffer
from .position import Position
from .sliced import Sliced

__all__ = ["Accessor", "Buffer", "Linear", "Position", "Sliced", "Unreachable", "accessor"]
