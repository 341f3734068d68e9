"""The devices of all targets: `devices`, which an application calls, and opening one of them.

Drivers are imported when they are asked for, so importing this module is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import DeviceError
from .startup import DRIVER_PROCESS

if TYPE_CHECKING:
    from .launch.device import Device, DeviceInfo, Unusable

# The targets whose kernels run here, with the module that finds and opens their devices.
RUNNABLE = {"opencl": ".opencl.find", "glsl": ".opengl.find", "wgsl": ".webgpu.find"}


def _driver(target: str) -> Any:
    """The module of a target (DeviceError)."""
    if target not in RUNNABLE:
        *others, last = RUNNABLE
        raise DeviceError(
            f"this runtime runs kernels for {', '.join(others)} and {last}, not for {target}"
        )
    return import_module(RUNNABLE[target], __package__)


def start_drivers(target: str, device: str) -> None:
    """Start the drivers of a target, if it is known, unless that has been done."""
    if target == "opencl":
        from .opencl.starting import start

        start(device)
    elif target == "glsl":
        from .opengl import egl

        egl.start()
    elif target:
        DRIVER_PROCESS.start()


def open_device(device: str, targets: Sequence[str], context: Any = None) -> Device:
    """A device with this name for the first target that has one (DeviceError).

    `targets` must not be empty. `context` is the caller's, as `load` takes it.
    """
    compiled_for = f"the model was compiled for {' and '.join(targets)}"
    opened: Device
    if context is not None:
        from .launch.callers_memory import callers_context

        given = callers_context(context)
        if given.target not in targets:
            needed = f"a {given.kind} needs a model compiled for {given.target}"
            raise DeviceError(f"{needed}, but {compiled_for}")
        opened = _driver(given.target).open_in(given, device)
        return opened
    errors = []
    for target in targets:
        try:
            opened = _driver(target).open_device(device)
            return opened
        except DeviceError as error:
            errors.append(error)
    raise DeviceError("\n".join([*map(str, errors), compiled_for])) from errors[0]


def devices() -> list[DeviceInfo]:
    """The attached devices: those of OpenCL, then of OpenGL, then of WebGPU, each best first.

    Without moderngl or libEGL no OpenGL devices are found, and without wgpu none of WebGPU.
    DeviceError if OpenCL is not installed.
    """
    found = list(_driver("opencl").devices())
    for target in ("glsl", "wgsl"):
        with suppress(DeviceError):
            found += _driver(target).devices()
    return found


def unusable() -> list[Unusable]:
    """The devices and drivers of OpenCL and WebGPU that do not work.

    DeviceError if OpenCL is not installed.
    """
    found = list(_driver("opencl").unusable())
    with suppress(DeviceError):
        found += _driver("wgsl").unusable()
    return found
