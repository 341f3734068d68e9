"""Runs in flight: waiting for them, their order, coroutines, threads and streams."""

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from plans import LENGTH, Parts, chain, chain_result, copy, pair, single

from tflgpu.runtime import DeviceError, InputError, Session, load
from tflgpu.runtime.binding.bound import BoundRun
from tflgpu.runtime.execution.copies import CopyOut
from tflgpu.runtime.opencl import device as opencl
from tflgpu.runtime.plan.records import TensorInfo


def check(result: Any, inputs: Any) -> None:
    np.testing.assert_allclose(result, chain_result(*inputs), rtol=1e-5, atol=1e-5)


def bound_to(session: Session, seed: int) -> BoundRun[Any]:
    a, b = pair(seed)
    return session.bind({"a": a, "b": b}, {"y": np.full(LENGTH, np.nan, np.float32)})


def test_several_runs_in_flight(session: Session) -> None:
    """Each has inputs of its own, and they may be waited for in any order."""
    bounds = [bound_to(session, seed) for seed in range(4)]
    for _ in range(3):
        runs = [bound.submit() for bound in bounds]
        for seed in (2, 0, 3, 1):
            outputs = runs[seed].wait()
            assert outputs is bounds[seed].outputs
            check(outputs["y"], pair(seed))
            outputs["y"].fill(np.nan)
        assert all(run.done for run in runs)
        runs[0].wait()
        assert np.isnan(bounds[0].outputs["y"]).all()


def test_a_run_that_is_submitted_again(session: Session) -> None:
    (a, b), y = pair(1), np.empty(LENGTH, np.float32)
    with session.bind({"a": a, "b": b}, {"y": y}) as bound:
        first = bound.submit()
        a[:], b[:] = pair(2)
        second = bound.submit()
        first.wait()
        second.wait(10)
        check(y, pair(2))


def slow() -> Parts:
    """A model without inputs, of which a run takes about a tenth of a second; y is 2."""
    source = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global volatile float* y) {
    float sum = 0;
    for (int i = 0; i < 40000000; ++i) sum = sum * 0.5f + 1.0f;
    y[get_global_id(0)] = sum;
}
"""
    return single(source, [], TensorInfo("y", (1,), "float32"), 1)


def test_waiting_ends_with_a_timeout(tmp_path: Path, opencl_device: str) -> None:
    y = np.zeros(1, np.float32)
    with load(slow().write(tmp_path), device=opencl_device, store_binaries=False) as session:
        run = session.bind({}, {"y": y}).submit()
        assert not run.done
        with pytest.raises(TimeoutError, match="the run is not done yet; wait for it again"):
            run.wait(0.01)
        run.wait(100)
        assert run.done
        assert y[0] == 2


def test_the_event_of_a_run_is_of_the_device(
    tmp_path: Path, opencl_device: str, opengl_device: str
) -> None:
    with load(chain().write(tmp_path), device=opencl_device) as session:
        run = bound_to(session, 5).submit()
        run.event.wait()
        assert run.done
        check(run.wait()["y"], pair(5))
    with load(chain("cd" * 32, target="glsl").write(tmp_path), device=opengl_device) as session:
        run = bound_to(session, 5).submit()
        assert run.event > 0
        run.wait()


def test_a_mapped_input_is_what_kernels_read(tmp_path: Path, opencl_device: str) -> None:
    """No copy of it: what the caller writes before they begin counts, and no other run writes."""
    (a, b), y = pair(), np.zeros(LENGTH, np.float32)
    with load(chain().write(tmp_path), device=opencl_device) as session:
        mapped = session.map_input("a")
        gate = cl.UserEvent(bound_to(session, 5).submit().event.context)
        with session.bind({"a": mapped, "b": b}, {"y": y}) as bound:
            run = bound.submit(wait_for=[gate])
            mapped[:] = a
            opening = Timer(0.1, gate.set_status, [cl.command_execution_status.COMPLETE])
            opening.start()
            check(session.run(pair(5))["y"], pair(5))
            run.wait()
            opening.join()
    check(y, (a, b))


def test_a_coroutine_awaits_a_run(session: Session) -> None:
    async def computed(seed: int) -> Any:
        return (await bound_to(session, seed).submit())["y"]

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(computed(seed) for seed in range(6)))

    for seed, result in enumerate(asyncio.run(all_of_them())):
        check(result, pair(seed))


def test_threads_run_at_once(session: Session) -> None:
    """Some use runs of their own, some the session."""
    bounds = [bound_to(session, seed) for seed in range(3)]

    def use(number: int) -> None:
        seed = number % 3
        if number % 2:
            bounds[seed].submit().wait()
            check(bounds[seed].outputs["y"], pair(seed))
        else:
            check(session.run(pair(number))["y"], pair(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(60)))


@pytest.mark.parametrize("waited", [False, True])
def test_a_run_that_fails(session: Session, monkeypatch: pytest.MonkeyPatch, waited: bool) -> None:
    """Every wait for it says so, but none for the run after it."""
    bound = bound_to(session, 6)

    def fail(*arguments: Any) -> None:
        raise DeviceError("the device is lost")

    with monkeypatch.context() as patch:
        patch.setattr(CopyOut, "finish", fail)
        failed = bound.submit()
        if waited:
            with pytest.raises(DeviceError, match="the device is lost"):
                failed.wait()
        after = bound.submit()
    uses: list[Callable[[], Any]] = [failed.wait, lambda: failed.wait(1), lambda: failed.done]
    for use in uses:
        with pytest.raises(DeviceError, match="the device is lost"):
            use()
    assert after.wait() is bound.outputs
    check(bound.outputs["y"], pair(6))


@pytest.mark.parametrize("timeout", [None, 10])
def test_a_session_that_is_closed_during_a_wait(
    session: Session, monkeypatch: pytest.MonkeyPatch, timeout: float | None
) -> None:
    """As by another thread: once the device is done, before the copies are."""
    bound = bound_to(session, 8)
    run = bound.submit()
    marker: Any = type(run._run.marker)
    original_wait, original_done = marker.wait, marker.done.fget

    def wait(self: Any) -> None:
        monkeypatch.undo()
        original_wait(self)
        session.close()

    def done(self: Any) -> Any:
        wait(self)
        return original_done(self)

    monkeypatch.setattr(marker, "wait", wait)
    monkeypatch.setattr(marker, "done", property(done))
    assert run.wait(timeout) is bound.outputs
    check(bound.outputs["y"], pair(8))
    assert run.done


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_stream_keeps_so_many_runs_in_flight(session: Session, depth: int) -> None:
    started: list[int] = []

    def frames() -> Iterator[Any]:
        for seed in range(9):
            started.append(seed)
            yield pair(seed)

    count = 0
    for seed, outputs in enumerate(session.stream(frames(), depth)):
        assert len(started) == min(seed + depth + 1, 9)
        check(outputs["y"], pair(seed))
        count += 1
    assert count == 9


def test_a_stream_that_is_left(session: Session) -> None:
    frames: list[Any] = [pair(0), pair(1), pair(2), [np.zeros(3)]]
    for outputs in session.stream(frames):
        check(outputs["y"], pair(0))
        break
    with pytest.raises(InputError, match="1 input given, but the model has 2"):
        list(session.stream(frames))
    check(session.run(pair(3))["y"], pair(3))
    with pytest.raises(InputError, match="depth=0: at least one run must be in flight"):
        session.stream(frames, 0)


@pytest.mark.parametrize("all_at_once", [False, True])
def test_arrays_outlive_a_run_that_is_dropped(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch, all_at_once: bool
) -> None:
    """The driver writes to them when the run is done, even if the session is dropped as well."""
    monkeypatch.setattr(opencl, "shares_memory", lambda device: False)
    written: list[float] = []
    session = load(slow().write(tmp_path), device=opencl_device, store_binaries=False)
    memory = np.zeros(1, np.float32)
    y = memory.view()
    weakref.finalize(y, lambda: written.append(memory[0]))
    run = session.bind({}, {"y": y}).submit()
    assert not run.done
    del y, run
    if all_at_once:
        del session
        gc.collect()
    else:
        gc.collect()
        assert written == []
        session.reset()
        gc.collect()
    assert written == [2]


def test_frames_may_be_changed(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the driver copies them behind the kernels of the run before."""
    monkeypatch.setattr(opencl, "shares_memory", lambda device: False)
    a, b = np.empty(LENGTH, np.float32), np.empty(LENGTH, np.float32)
    uploaded: list[Any] = []
    upload = opencl.OpenCLDevice.upload

    def recorded(self: Any, buffer: int, array: Any, offset: int = 0) -> None:
        uploaded.append(array)
        upload(self, buffer, array, offset)

    def frames() -> Iterator[Any]:
        for seed in range(20):
            a[:], b[:] = pair(seed)
            yield a, b

    with load(chain().write(tmp_path), device=opencl_device) as session:
        monkeypatch.setattr(opencl.OpenCLDevice, "upload", recorded)
        for seed, outputs in enumerate(session.stream(frames())):
            check(outputs["y"], pair(seed))
    assert len(uploaded) == 40
    assert not any(np.shares_memory(array, frame) for array in uploaded for frame in (a, b))


def test_memory_that_only_the_driver_copies(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on devices that share none with the host: the driver copies behind the kernels."""
    monkeypatch.setattr(opencl, "shares_memory", lambda device: False)
    with load(chain().write(tmp_path), device=opencl_device) as session:
        test_several_runs_in_flight(session)
        bound = bound_to(session, 7)
        bound.run()
        check(bound.outputs["y"], pair(7))
        for seed, outputs in enumerate(session.stream(pair(seed) for seed in range(9))):
            check(outputs["y"], pair(seed))
        with pytest.raises(DeviceError, match="does not share the memory of input a with the host"):
            session.map_input("a")
    integers = np.arange(6, dtype=np.int8).reshape(2, 3)
    result = np.zeros((3, 2), np.int8).T
    parts = copy(TensorInfo("x", (2, 3), "int8"), "int")
    with (
        load(parts.write(tmp_path / "integers"), device=opencl_device) as session,
        session.bind({"x": integers}, {"y": result}) as bound,
    ):
        bound.submit().wait()
        np.testing.assert_array_equal(result, integers)
