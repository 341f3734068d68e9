"""The user's own cache, for models that are run without being compiled before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from platformdirs import user_cache_path

from ..runtime.errors import DeviceError
from .devices.attached import select_device
from .options import Options


def user_cache() -> Path:
    """The folder of the user's own cache, which may not exist yet."""
    return user_cache_path("tflgpu") / "models"


def for_attached_device(options: Options) -> Options:
    """The options for OpenCL if it has the device they name, else for OpenGL (DeviceError)."""
    try:
        select_device(options.device, "opencl")
    except DeviceError as error:
        try:
            select_device(options.device, "glsl")
        except DeviceError:
            raise error from None
        return replace(options, target="glsl")
    return options
