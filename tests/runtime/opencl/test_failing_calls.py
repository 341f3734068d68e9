"""Calls of the driver that fail: errors that say so, and nothing is left behind."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plans import chain, chain_result, pair

from tflgpu.runtime import BuildError, CacheWarning, DeviceError, Session, load
from tflgpu.runtime.opencl import device, library, programs


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


def fail(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Let a function always fail where programs are made."""

    def call(called: str, *arguments: Any) -> None:
        if called == function:
            raise library.OpenCLError(function, -6)
        library.call(called, *arguments)

    monkeypatch.setattr(programs, "call", call)


def test_a_compiler_that_does_not_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opencl_device: str
) -> None:
    """It has nothing to say about the kernel, or refuses to say it; the status is the reason."""
    folder = chain().write(tmp_path)
    fail(monkeypatch, "clBuildProgram")
    with pytest.raises(BuildError, match=r"kernels/.*:\nclBuildProgram failed with OUT_OF_HOST"):
        load(folder, device=opencl_device)


def test_compiled_kernels_that_the_driver_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opencl_device: str
) -> None:
    folder = chain().write(tmp_path)
    fail(monkeypatch, "clGetProgramInfo")
    stored = "could not be stored, .* clGetProgramInfo failed with OUT_OF_HOST_MEMORY while reading"
    with pytest.warns(CacheWarning, match=stored):
        session = load(folder, device=opencl_device)
    a, b = pair()
    with session:
        np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)
