"""The cache in which commands keep what they compile without being told where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from platformdirs import user_cache_path

from ...runtime.errors import DeviceError
from .. import pipeline
from ..devices.attached import select_device
from ..options import Options
from .shell import progress, warn


def user_cache() -> Path:
    """The user's own cache of compiled models."""
    return user_cache_path("tflgpu") / "models"


def compiled(model: Path, device: str) -> Path:
    """The folder of a model compiled for an attached device, now unless it was before.

    Raises what `pipeline.build` raises.
    """
    options, cache = _options(device), user_cache()
    folder = pipeline.compiled_before(str(model), options, cache)
    if folder is None:
        with progress() as show:
            folder = pipeline.store(pipeline.build(str(model), options, show), cache)
        warn(f"note: compiled into {cache}, so that the next run starts at once")
    return folder


def _options(device: str) -> Options:
    """For OpenCL if there is such a device, else for OpenGL (DeviceError)."""
    options = Options(device=device)
    try:
        select_device(device, "opencl")
    except DeviceError as error:
        try:
            select_device(device, "glsl")
        except DeviceError:
            raise error from None
        return replace(options, target="glsl")
    return options
