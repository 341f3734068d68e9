"""The runtime: loads a compiled model from a cache folder and runs it.

Importing this package is cheap. numpy and the drivers' interfaces are imported when a model is
loaded, the compiler never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .api import devices, load
from .errors import (
    BuildError,
    CacheWarning,
    DeviceError,
    InputError,
    PlanError,
    StoreError,
    TflgpuError,
)
from .launch.device import DeviceInfo
from .plan.records import TensorInfo

if TYPE_CHECKING:
    from .session import Session

__all__ = [
    "BuildError",
    "CacheWarning",
    "DeviceError",
    "DeviceInfo",
    "InputError",
    "PlanError",
    "Session",
    "StoreError",
    "TensorInfo",
    "TflgpuError",
    "devices",
    "load",
]


# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "Session":
            from .session import Session

            return Session
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
