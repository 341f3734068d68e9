"""tflgpu compiles TensorFlow Lite models to GPU kernels ahead of time, and runs the result.

    folder = tflgpu.compile("model.tflite", "cache/")
    with tflgpu.load(folder) as session:
        outputs = session.run({"image": image})

Names are imported on first use, so an application that only loads compiled models never imports the
compiler.
"""

from typing import TYPE_CHECKING, Any

from tflgpu.runtime.late_names import late_names

if TYPE_CHECKING:
    from tflgpu.compiler.api import compile as compile
    from tflgpu.compiler.errors import FallbackWarning as FallbackWarning
    from tflgpu.compiler.errors import Finding as Finding
    from tflgpu.compiler.errors import ModelError as ModelError
    from tflgpu.compiler.errors import OptionError as OptionError
    from tflgpu.compiler.errors import UnsupportedError as UnsupportedError
    from tflgpu.compiler.errors import WorkerError as WorkerError
    from tflgpu.compiler.fleet.api import compile_many as compile_many
    from tflgpu.compiler.options import Options as Options
    from tflgpu.compiler.tools.editing.edit import edit_kernel as edit_kernel
    from tflgpu.compiler.tools.editing.edit import revert_kernel as revert_kernel
    from tflgpu.runtime.api import load as load
    from tflgpu.runtime.binding.bound import BoundRun as BoundRun
    from tflgpu.runtime.binding.submitted import SubmittedRun as SubmittedRun
    from tflgpu.runtime.drivers import devices as devices
    from tflgpu.runtime.errors import BuildError as BuildError
    from tflgpu.runtime.errors import CacheWarning as CacheWarning
    from tflgpu.runtime.errors import DeviceError as DeviceError
    from tflgpu.runtime.errors import DeviceWarning as DeviceWarning
    from tflgpu.runtime.errors import InputError as InputError
    from tflgpu.runtime.errors import PlanError as PlanError
    from tflgpu.runtime.errors import StoreError as StoreError
    from tflgpu.runtime.errors import TflgpuError as TflgpuError
    from tflgpu.runtime.launch.device import DeviceInfo as DeviceInfo
    from tflgpu.runtime.plan.records import TensorInfo as TensorInfo
    from tflgpu.runtime.session import Session as Session

    __version__: str

_NAMES = {
    "compiler.api": ["compile"],
    "compiler.errors": [
        *("FallbackWarning", "Finding", "ModelError", "OptionError", "UnsupportedError"),
        "WorkerError",
    ],
    "compiler.fleet.api": ["compile_many"],
    "compiler.options": ["Options"],
    "compiler.tools.editing.edit": ["edit_kernel", "revert_kernel"],
    "loading": ["load"],
    "runtime.binding.bound": ["BoundRun"],
    "runtime.binding.submitted": ["SubmittedRun"],
    "runtime.drivers": ["devices"],
    "runtime.errors": [
        *("BuildError", "CacheWarning", "DeviceError", "DeviceWarning", "InputError", "PlanError"),
        *("StoreError", "TflgpuError"),
    ],
    "runtime.launch.device": ["DeviceInfo"],
    "runtime.plan.records": ["TensorInfo"],
    "runtime.session": ["Session"],
}

__all__ = sorted(["__version__", *(name for names in _NAMES.values() for name in names)])

# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:
    _find = late_names("tflgpu", _NAMES)

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("tflgpu")
        return _find(name)


def __dir__() -> list[str]:
    return __all__
