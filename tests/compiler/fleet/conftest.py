"""Models and stores for the tests of many compilations."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs.steps import elementwise

NAMES = ("ABS", "EXP", "COS")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of small models, one of which no part of tflgpu can compile."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in NAMES:
        elementwise(folder / f"{name}.tflite", name)
    (folder / "BAD.tflite").write_text("this is not a model")
    return folder
