"""The runtime: loads a compiled model from a cache folder and runs it.

Importing this package is cheap. numpy and the drivers' interfaces are imported when a model is
loaded, the compiler never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from .late_names import late_names

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


# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:
    # Drivers start before these classes are imported.
    __getattr__ = late_names(
        __name__,
        {
            "BoundRun": "binding.bound",
            "DeviceInfo": "launch.device",
            "Session": "session",
            "SubmittedRun": "binding.submitted",
            "TensorInfo": "plan.records",
        },
    )
