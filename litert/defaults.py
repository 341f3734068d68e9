"""The device and the cache of models that are opened without naming them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path


@dataclass
class Defaults:
    """What `python -m tflgpu.litert` sets for the script that it runs."""

    device: str = "auto"
    """As in `tflgpu.load`."""
    cache: Path = user_cache_path("tflgpu") / "models"
    """The folder of compiled models."""


DEFAULTS = Defaults()
