"""Ctrl-C at any moment: the session can be used afterwards, and no memory in use is freed."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from plans import LENGTH, chain, chain_result, pair

from tflgpu.runtime import DeviceError, Session, load
from tflgpu.runtime.binding.slot import Slot


def _interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.fixture
def opened(tmp_path: Path, opencl_device: str) -> Iterator[Session]:
    """On OpenCL, where drivers do not retain shared memory that they still use."""
    with load(chain().write(tmp_path), device=opencl_device) as session:
        yield session


@pytest.fixture
def events(opened: Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes when the device is waited for, and when memory is freed."""
    device: Any = opened._execution.device
    noted: list[str] = []
    finish, free = device.finish, device._owned._free

    def finishes() -> None:
        noted.append("finish")
        finish()

    def frees(made: Any) -> None:
        noted.append("free")
        free(made)

    monkeypatch.setattr(device, "finish", finishes)
    monkeypatch.setattr(device._owned, "_free", frees)
    return noted


def _runs(session: Session) -> None:
    a, b = pair(4)
    np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), rtol=1e-5, atol=1e-5)


def test_a_run_without_a_marker_is_done_before_its_memory_is_freed(
    opened: Session, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (a, b), y = pair(4), np.empty(LENGTH, np.float32)
    with opened.bind({"a": a, "b": b}, {"y": y}) as bound, monkeypatch.context() as patch:
        patch.setattr(Slot, "mark", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            bound.submit()
        events.clear()
    assert events[:2] == ["finish", "free"]
    _runs(opened)


def test_what_a_binding_has_begun_is_done_before_its_memory_is_freed(
    opened: Session, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as to fill the counters of a persistent kernel."""
    (a, b), y = pair(4), np.empty(LENGTH, np.float32)
    with monkeypatch.context() as patch:
        patch.setattr(type(opened._execution), "commands_on", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            opened.bind({"a": a, "b": b}, {"y": y})
    assert events == ["finish", "free"]
    _runs(opened)


def test_whose_turn_it_was_no_longer_counts(session: Session) -> None:
    """Ctrl-C may come between taking the session and its use, or between its use and giving it
    back; a block that is still being run counts."""

    def takes() -> None:
        session._execution.__enter__()

    takes()
    _runs(session)
    other = Thread(target=_runs, args=(session,))
    other.start()
    other.join(60)
    assert not other.is_alive()
    with session._execution, pytest.raises(DeviceError, match="runs on this thread already"):
        session.reset()
