"""OpenGL sessions in threads: contexts are bound to one thread at a time."""

import ctypes
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from plans import chain, chain_result, pair

from tflgpu.runtime import load
from tflgpu.runtime.opengl import egl


def test_sessions_side_by_side(tmp_path: Path, opengl_device: str) -> None:
    """Two sessions on four threads, closed on a thread that never used them."""
    folder = chain(target="glsl").write(tmp_path)
    with load(folder, device=opengl_device) as one, load(folder, device=opengl_device) as two:
        inputs = [pair(seed) for seed in range(20)]
        with ThreadPoolExecutor(4) as pool:
            first = [pool.submit(one.run, arrays) for arrays in inputs]
            second = [pool.submit(two.run, arrays[::-1]) for arrays in inputs]
            for (a, b), x, y in zip(inputs, first, second, strict=True):
                expected = chain_result(a, b)
                np.testing.assert_allclose(x.result()["y"], expected, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(y.result()["y"], expected, rtol=1e-5, atol=1e-5)


def test_opencl_beside_opengl(tmp_path: Path, opencl_device: str, opengl_device: str) -> None:
    with (
        load(chain().write(tmp_path / "cl"), device=opencl_device) as cl,
        load(chain(target="glsl").write(tmp_path / "gl"), device=opengl_device) as gl,
    ):
        for seed in range(5):
            a, b = pair(seed)
            expected = chain_result(a, b)
            for session in (cl, gl):
                np.testing.assert_allclose(session.run([a, b])["y"], expected, rtol=1e-5, atol=1e-5)


def test_the_applications_context_stays_current(tmp_path: Path, opengl_device: str) -> None:
    """On a thread of its own, where no other test has left a context current."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run_inside_a_context, tmp_path, opengl_device).result()


def run_inside_a_context(folder: Path, device: str) -> None:
    library = ctypes.CDLL("libEGL.so.1")
    library.eglGetCurrentContext.restype = ctypes.c_void_p
    own, *others = egl.contexts()
    for other in others:
        other.release()
    assert library.eglGetCurrentContext() is None
    with own:
        current = library.eglGetCurrentContext()
        assert current
        with load(chain(target="glsl").write(folder), device=device) as session:
            assert library.eglGetCurrentContext() == current
            session.run(pair())
            assert library.eglGetCurrentContext() == current
        assert library.eglGetCurrentContext() == current
    assert library.eglGetCurrentContext() is None
    own.release()


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_everything_is_released(tmp_path: Path, opengl_device: str) -> None:
    """Fifty sessions of 8 MiB and more, one after the other, take the memory of one."""
    folder = chain(target="glsl").replacing(arena_size=8 << 20).write(tmp_path)

    def cycle() -> None:
        with load(folder, device=opengl_device) as session:
            session.poison()
            session.run(pair())

    for _ in range(5):
        cycle()
    before = resident()
    for _ in range(50):
        cycle()
    assert resident() - before < 16 << 20


def test_dropping_a_session_releases_it(tmp_path: Path, opengl_device: str) -> None:
    session = load(chain(target="glsl").write(tmp_path), device=opengl_device)
    session.run(pair())
    context = session._execution.device._current  # type: ignore[attr-defined]
    assert context.works()
    del session
    gc.collect()
    assert not context.works()
