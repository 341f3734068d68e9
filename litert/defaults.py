"""The device and the cache of models that are opened without naming them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..compiler.user_cache import user_cache


@dataclass
class Defaults:
    """What `python -m tflgpu.litert` sets for the script that it runs."""

    device: str = "auto"
    """As in `tflgpu.load`."""
    cache: Path | None = None
    """The folder of compiled models; None for one in the user's cache folder."""

    @property
    def folder(self) -> Path:
        """The folder of compiled models."""
        return self.cache or user_cache()


DEFAULTS = Defaults()
