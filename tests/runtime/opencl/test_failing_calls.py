"""Calls of the driver that fail: errors that say so, and nothing is left behind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plans import chain, chain_result, pair

from tflgpu.runtime import DeviceError, Session, load
from tflgpu.runtime.opencl import device, library


@pytest.fixture
def session(tmp_path: Path, opencl_device: str) -> Iterator[Session]:
    with load(chain().write(tmp_path), device=opencl_device) as session:
        yield session


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that succeed; those whose names are in the list already fail, and are removed."""
    noted: list[str] = []

    def call(function: str, *arguments: Any) -> None:
        if function in noted[:1]:
            noted.clear()
            raise library.OpenCLError(function, -5)
        library.call(function, *arguments)
        noted.append(function)

    monkeypatch.setattr(device, "call", call)
    return noted


def _profiles(session: Session) -> None:
    session.profile(pair())


def _binds(session: Session) -> None:
    session.bind(pair()).close()


@pytest.mark.parametrize(
    ("function", "uses"), [("clEnqueueNDRangeKernel", _profiles), ("clRetainContext", _binds)]
)
def test_a_call_that_fails(
    session: Session, calls: list[str], function: str, uses: Callable[[Session], None]
) -> None:
    calls.append(function)
    with pytest.raises(DeviceError, match=f"{function} failed with OUT_OF_RESOURCES while"):
        uses(session)
    if uses is _profiles:
        assert calls == ["clFinish", "clReleaseCommandQueue"]
    a, b = pair()
    np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)
