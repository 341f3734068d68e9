"""Sessions of real networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from devices import Attached

import tflgpu
from tflgpu.runtime import Session

Opener = Callable[..., Session]
"""Called with the path of a model, and `keep_intermediates`."""


@pytest.fixture
def opened(attached: Attached, tmp_path: Path) -> Opener:
    """Compiles a model without fallback, and loads it on the attached device."""

    def open_model(model: Path, keep_intermediates: bool = False) -> Session:
        folder = tflgpu.compile(
            model,
            tmp_path,
            target=attached.target,
            device=attached.device,
            fallback="none",
            keep_intermediates=keep_intermediates,
        )
        return tflgpu.load(folder, device=attached.device)

    return open_model
