"""The runtime: loads a compiled model from a cache folder and runs it.

Importing this package is cheap. numpy and the drivers' interfaces are imported when a model is
loaded, the compiler never.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .api import devices, load
from .errors import (
    BuildError,
    CacheWarning,
    DeviceError,
    DeviceWarning,
    InputError,
    PlanError,
    StoreError,
    TflgpuError,
)

if TYPE_CHECKING:
    from .binding.bound import BoundRun
    from .binding.submitted import SubmittedRun
    from .launch.device import DeviceInfo
    from .plan.records import TensorInfo
    from .session import Session

__all__ = [
    "BoundRun",
    "BuildError",
    "CacheWarning",
    "DeviceError",
    "DeviceInfo",
    "DeviceWarning",
    "InputError",
    "PlanError",
    "Session",
    "StoreError",
    "SubmittedRun",
    "TensorInfo",
    "TflgpuError",
    "devices",
    "load",
]


_LATE = {
    "BoundRun": "tflgpu.runtime.binding.bound",
    "DeviceInfo": "tflgpu.runtime.launch.device",
    "Session": "tflgpu.runtime.session",
    "SubmittedRun": "tflgpu.runtime.binding.submitted",
    "TensorInfo": "tflgpu.runtime.plan.records",
}
"""The module of each class that is imported on first use: drivers start before that."""


# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _LATE:
            return getattr(import_module(_LATE[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
