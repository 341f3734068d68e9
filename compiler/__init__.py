"""The compiler: turns a .tflite model into a plan with readable kernels.

`compile` writes into a cache directory; `build` compiles in memory.
"""

from ..runtime.errors import TflgpuError
from .driver import build, compile
from .errors import Finding, ModelError, OptionError, UnsupportedError
from .options import Options
from .program import Program
from .tuning.search import tune

__all__ = [
    "Finding",
    "ModelError",
    "OptionError",
    "Options",
    "Program",
    "TflgpuError",
    "UnsupportedError",
    "build",
    "compile",
    "tune",
]
