"""Temporary folders are removed, whenever an interruption comes."""

import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tflgpu.compiler.scratch import scratch_folder


def test_a_folder_lives_as_long_as_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder() as folder:
        (folder / "file").touch()
        assert list(tmp_path.iterdir()) == [folder]
    assert not list(tmp_path.iterdir())


def test_an_interruption_at_any_line_of_the_removal_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    interrupted = 0
    for line in count():
        try:
            _use_and_interrupt(line)
        except (KeyboardInterrupt, OSError):
            interrupted += 1
            assert not list(tmp_path.iterdir()), f"interrupted at line {line}"
        else:
            break
    assert interrupted > 20


def _use_and_interrupt(number: int) -> None:
    """Use a folder, and raise KeyboardInterrupt before the given line of what removes it."""
    lines = count()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != shutil.__file__:
            return None
        if event == "line" and next(lines) == number:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with scratch_folder() as folder:
            (folder / "file").touch()
    finally:
        sys.settrace(before)
