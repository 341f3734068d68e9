"""Finding OpenGL devices, and opening one by its name."""

from contextlib import suppress

from ..errors import DeviceError
from ..launch.callers_memory import CallersContext
from ..launch.device import DeviceInfo, matching
from . import egl
from .callers_memory import ModernglContext
from .device import OpenGLDevice


def devices() -> list[DeviceInfo]:
    """The OpenGL devices present that can run compute shaders, best first (DeviceError)."""
    opened = _open_all()
    for device in opened:
        device.release()
    return [device.info for device in opened]


def select_device(name: str = "auto") -> DeviceInfo:
    """The best device with `name` in its text, any for "auto" (DeviceError that lists all)."""
    device = open_device(name)
    device.release()
    return device.info


def open_device(name: str = "auto") -> OpenGLDevice:
    """The device that `select_device` returns, opened (DeviceError)."""
    opened = _open_all()
    advice = (
        "OpenGL ES 3.1 or OpenGL 4.3 is needed; install a driver that runs on the CPU, on Debian "
        "and Ubuntu with: apt install libegl1 libgl1-mesa-dri"
    )
    chosen = None
    try:
        chosen = matching(name, [(item.info, item) for item in opened], "OpenGL", advice)[0][1]
    finally:
        for device in opened:
            if device is not chosen:
                device.release()
    return chosen


def open_in(context: CallersContext, name: str = "auto") -> OpenGLDevice:
    """The device of a context of the caller (DeviceError)."""
    device = OpenGLDevice(ModernglContext(context.owner))
    return matching(name, [(device.info, device)], "OpenGL", "")[0][1]


def _open_all() -> list[OpenGLDevice]:
    """Every device that can be used, GPUs before software (DeviceError)."""
    opened = []
    for context in egl.contexts():
        with suppress(DeviceError):
            opened.append(OpenGLDevice(context))
    return sorted(opened, key=lambda device: device.info.type != "gpu")
