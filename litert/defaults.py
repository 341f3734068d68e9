"""The device and the cache of models that are opened without naming them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..compiler.user_cache import user_cache


@dataclass
class Defaults:
    """What `python -m tflgpu.litert` sets for the script that it runs."""

    device: str = "auto"
    """As in `tflgpu.load`."""
    cache: Path = field(default_factory=user_cache)
    """The folder of compiled models."""


DEFAULTS = Defaults()
