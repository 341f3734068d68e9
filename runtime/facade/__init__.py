"""tflgpu compiles TensorFlow Lite models to GPU kernels ahead of time, and runs the result.

    folder = tflgpu.compile("model.tflite", "cache/")
    with tflgpu.load(folder) as session:
        outputs = session.run({"image": image})

Names are imported on first use, so an application that only loads compiled models never imports the
compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflgpu.compiler import (
        Finding,
        ModelError,
        OptionError,
        Options,
        UnsupportedError,
        compile,
        edit_kernel,
        revert_kernel,
    )
    from tflgpu.compiler.errors import FallbackWarning, WorkerError
    from tflgpu.compiler.fleet.api import compile_many
    from tflgpu.runtime import (
        BoundRun,
        BuildError,
        CacheWarning,
        DeviceError,
        DeviceInfo,
        DeviceWarning,
        InputError,
        PlanError,
        Session,
        StoreError,
        SubmittedRun,
        TensorInfo,
        TflgpuError,
        devices,
        load,
    )

    __version__: str

__all__ = [
    "BoundRun",
    "BuildError",
    "CacheWarning",
    "DeviceError",
    "DeviceInfo",
    "DeviceWarning",
    "FallbackWarning",
    "Finding",
    "InputError",
    "ModelError",
    "OptionError",
    "Options",
    "PlanError",
    "Session",
    "StoreError",
    "SubmittedRun",
    "TensorInfo",
    "TflgpuError",
    "UnsupportedError",
    "WorkerError",
    "__version__",
    "compile",
    "compile_many",
    "devices",
    "edit_kernel",
    "load",
    "revert_kernel",
]

_HOMES = {
    "FallbackWarning": "tflgpu.compiler.errors",
    "Finding": "tflgpu.compiler.errors",
    "ModelError": "tflgpu.compiler.errors",
    "OptionError": "tflgpu.compiler.errors",
    "Options": "tflgpu.compiler.options",
    "UnsupportedError": "tflgpu.compiler.errors",
    "WorkerError": "tflgpu.compiler.errors",
    "compile": "tflgpu.compiler.api",
    "compile_many": "tflgpu.compiler.fleet.api",
    "edit_kernel": "tflgpu.compiler.tools.editing.edit",
    "load": "tflgpu.loading",
    "revert_kernel": "tflgpu.compiler.tools.editing.edit",
}
"""The module of each name that is not in `tflgpu.runtime`."""


# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'tflgpu' has no attribute {name!r}")
        if name == "__version__":
            from importlib.metadata import version

            value = version("tflgpu")
        else:
            value = getattr(import_module(_HOMES.get(name, "tflgpu.runtime")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
