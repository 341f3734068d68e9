"""Memory of the caller that runs in flight use, which lives until they are done."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from ctypes import c_float
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from paths import DIGITS_MODEL
from plans import LENGTH, SIZE, chain, chain_result, pair

import tflgpu
from tflgpu.runtime import load


class Watched(cl.SVMAllocation):  # type: ignore[misc]
    """Shared memory that can be referred to weakly."""


def test_shared_memory_outlives_a_run_in_flight(tmp_path: Path, opencl_device: str) -> None:
    """The driver does not retain it."""
    (a, b), y = pair(4), np.empty(LENGTH, np.float32)
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
    with load(chain().write(tmp_path), device=opencl_device) as session:
        device: Any = session._execution.device
        x = Watched(cl.Context.from_int_ptr(device._context), SIZE, 64, flags)
        (c_float * LENGTH).from_address(x.svm_ptr)[:] = a.tolist()
        watched = weakref.ref(x)
        run = session.bind({"a": x, "b": b}, {"y": y}).submit()
        del x
        gc.collect()
        assert watched() is not None
        run.wait()
        np.testing.assert_allclose(y, chain_result(a, b), rtol=1e-5, atol=1e-5)
        del run
        gc.collect()
        assert watched() is not None
        session.reset()
        assert watched() is None


def test_memory_that_was_never_run_on_is_freed_once_the_device_is_done(
    tmp_path: Path, opencl_device: str
) -> None:
    """Binding fills the counters of barriers; the driver does not wait for that by itself."""
    with load(tflgpu.compile(DIGITS_MODEL, tmp_path, device=opencl_device)) as session:
        memory: Any = session._execution.device._memory  # type: ignore[attr-defined]
        with session.bind({"image": np.zeros((1, 8, 8, 1), np.float32)}):
            assert memory.busy
        assert not memory.busy


def test_a_session_may_be_closed_while_a_bound_run_is(tmp_path: Path, opencl_device: str) -> None:
    a, b = pair(4)
    with (
        load(chain().write(tmp_path), device=opencl_device) as session,
        ThreadPoolExecutor() as pool,
    ):
        bound = session.bind({"a": a, "b": b})
        lock = session._execution.owner._lock
        with lock:
            closing = pool.submit(bound.close)
            assert not wait([closing], timeout=0.2).done
            session.close()
        closing.result()
