"""The compiler: from a .tflite model to a plan with readable kernels.

`compile` writes into a cache folder; `build` compiles in memory. Names are imported on first use,
so that commands which do not compile import no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runtime.late_names import late_names

if TYPE_CHECKING:
    from ..runtime.errors import TflgpuError as TflgpuError
    from .api import compile as compile
    from .emit.compiled_model import CompiledModel as CompiledModel
    from .errors import Finding as Finding
    from .errors import ModelError as ModelError
    from .errors import OptionError as OptionError
    from .errors import UnsupportedError as UnsupportedError
    from .options import Options as Options
    from .pipeline import build as build
    from .tools.editing.edit import Trial as Trial
    from .tools.editing.edit import edit_kernel as edit_kernel
    from .tools.editing.edit import revert_kernel as revert_kernel
    from .tools.tune import tune as tune

# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:
    __getattr__ = late_names(
        __name__,
        {
            "api": ["compile"],
            "emit.compiled_model": ["CompiledModel"],
            "errors": ["Finding", "ModelError", "OptionError", "TflgpuError", "UnsupportedError"],
            "options": ["Options"],
            "pipeline": ["build"],
            "tools.editing.edit": ["Trial", "edit_kernel", "revert_kernel"],
            "tools.tune": ["tune"],
        },
    )
