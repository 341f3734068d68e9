"""LiteRT's delegates, which tflgpu has no use for: it chooses its own device."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any


class Delegate:
    """A delegate that is accepted and not used. Its library is not loaded."""

    def __init__(
        self, library: str | os.PathLike[str], options: Mapping[str, Any] | None = None
    ) -> None:
        self.library = os.fspath(library)
        self.options = dict(options or {})


def load_delegate(
    library: str | os.PathLike[str], options: Mapping[str, Any] | None = None
) -> Delegate:
    """A `Delegate` for LiteRT's interface; a warning says that its library is not loaded."""
    warnings.warn(
        f"tflgpu does not load the delegate {os.fspath(library)}: it runs models on its own device",
        stacklevel=2,
    )
    return Delegate(library, options)
