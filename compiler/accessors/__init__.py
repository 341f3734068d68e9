"""Accessors: how a kernel indexes a tensor, by its storage.

Input are coordinates as integer expressions; output are the expressions that read memory and the
statements that write it. An accessor is a layout (channel slices, rows, elements), a codec (floats,
halves, integers of some width) and the memory (a buffer, or an image in OpenCL C).
"""

from .accessor import Accessor, Position
from .choice import Unreachable, accessor
from .linear import Linear
from .memory import Buffer
from .sliced import Sliced
