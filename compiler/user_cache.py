"""The user's own cache, for models that are run without being compiled before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path

from ..runtime.errors import DeviceError, PlanError
from .devices.attached import select_device
from .options import Options

T = TypeVar("T")


def user_cache() -> Path:
    """The folder of the user's own cache, which may not exist yet."""
    return user_cache_path("tflgpu") / "models"


def load_or_compile(folder: Path, load: Callable[[Path], T], compile: Callable[[], Path]) -> T:
    """What `load` makes of a model's folder, compiled if it is not yet there or is damaged.

    `compile` returns the folder that it wrote. Raises what both functions raise.
    """
    with suppress(PlanError):  # not compiled yet, or damaged
        return load(folder)
    return load(compile())


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
