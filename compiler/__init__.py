"""The compiler: from a .tflite model to a plan with readable kernels.

`compile` writes into a cache folder; `build` compiles in memory.
"""

from ..runtime.errors import TflgpuError
from .api import compile
from .emit.compiled_model import CompiledModel
from .errors import Finding, ModelError, OptionError, UnsupportedError
from .options import Options
from .pipeline import build
from .tools.editing.edit import Trial, edit_kernel, revert_kernel
from .tools.tune import tune

__all__ = [
    "CompiledModel",
    "Finding",
    "ModelError",
    "OptionError",
    "Options",
    "TflgpuError",
    "Trial",
    "UnsupportedError",
    "build",
    "compile",
    "edit_kernel",
    "revert_kernel",
    "tune",
]
