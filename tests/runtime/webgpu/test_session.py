"""Sessions on WebGPU: limits, lost devices, times, memory of the caller."""

import gc
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs.operators import file_of
from plans import LENGTH, SIZE, chain, chain_result, check, pair

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.runtime import DeviceError, InputError, PlanError, load


@pytest.fixture
def folder(tmp_path: Path, webgpu_device: str) -> Path:
    return chain(target="wgsl").write(tmp_path)


@pytest.fixture
def callers(webgpu_device: str) -> Any:
    """A device of the caller, which shares no more memory than WebGPU guarantees."""
    import wgpu

    limits = {"max-compute-workgroup-storage-size": 16384}
    return wgpu.gpu.enumerate_adapters_sync()[0].request_device_sync(required_limits=limits)


def test_a_limit_that_is_too_low(tmp_path: Path, folder: Path, callers: Any) -> None:
    parts = chain("cd" * 32, target="wgsl")
    first, *kernels = parts.plan.kernels
    parts = parts.replacing(kernels=(replace(first, shared_memory=1 << 15), *kernels))
    wide = parts.write(tmp_path)
    message = "share 32768 bytes of memory, but the limit of this device is 16384"
    with pytest.raises(PlanError, match=message):
        load(wide, context=callers)
    load(folder, context=callers).close()


def test_a_lost_device(folder: Path, webgpu_device: str) -> None:
    """Errors say so, and the next model is loaded on a new device."""
    with load(folder, device=webgpu_device) as session:
        session._execution.device._device.destroy()  # type: ignore[attr-defined]
        with pytest.raises(
            DeviceError, match=r"Parent device is lost while .*load the model again"
        ):
            session.run(pair())
    check(folder, webgpu_device)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_waiting_again_after_an_error(
    folder: Path, webgpu_device: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is not taken for done before its results are there."""
    import wgpu

    def fails(_: Any) -> None:
        raise error("interrupted")

    (a, b), y = pair(2), np.zeros(LENGTH, np.float32)
    with load(folder, device=webgpu_device) as session, session.bind([a, b], {"y": y}) as bound:
        run = bound.submit()
        with monkeypatch.context() as patch:
            patch.setattr(wgpu.GPUPromise, "sync_wait", fails)
            with pytest.raises((DeviceError, KeyboardInterrupt), match="interrupted"):
                run.wait()
        run.wait()
    np.testing.assert_allclose(y, chain_result(a, b), 1e-5, 1e-5)


def test_an_idle_device_is_not_waited_for(
    folder: Path, webgpu_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def submit(work: Any) -> None:
        nonlocal count
        count += 1
        real(work)

    with load(folder, device=webgpu_device) as session:
        device = session._execution.device
        queue = device._queue  # type: ignore[attr-defined]
        real = queue.submit
        monkeypatch.setattr(queue, "submit", submit)
        session.run(pair())
        before = count
        device.finish()
        assert count == before > 0
        device.enqueue(())
        device.finish()
        assert count > before


def test_two_models_and_many_runs_without_growth(
    tmp_path: Path, folder: Path, webgpu_device: str
) -> None:
    other = chain("cd" * 32, target="wgsl").write(tmp_path)
    a, b = pair()
    with load(folder, device=webgpu_device) as one, load(other, device=webgpu_device) as two:
        bound = two.bind({"a": b, "b": a}, {"y": (y := np.empty(LENGTH, np.float32))})
        before = 0
        for number in range(600):
            run = bound.submit()
            found = one.run([a, b])["y"]
            run.wait()
            np.testing.assert_array_equal(found, y)
            if number == 200:
                gc.collect()
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    np.testing.assert_allclose(y, chain_result(a, b), 1e-5, 1e-5)
    assert grown < 2048, f"{grown} KiB in 400 runs"


@pytest.mark.parametrize("stamped", [True, False])
def test_profile_times_every_dispatch(
    folder: Path, webgpu_device: str, stamped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not stamped:
        monkeypatch.setattr("tflgpu.runtime.webgpu.timing.FEATURE", "none")
    with load(folder, device=webgpu_device) as session:
        times = session.profile(pair())
    assert [index for index, _ in times] == [0, 1, 2]
    assert all(0 < seconds < 5 for _, seconds in times)


def test_memory_of_the_caller(folder: Path, callers: Any, webgpu_device: str) -> None:
    a, b = pair(1)
    usage = "STORAGE | COPY_SRC | COPY_DST"
    given = callers.create_buffer_with_data(data=a, usage=usage)
    y = callers.create_buffer(size=256, usage=usage)
    with load(folder, context=callers) as session:
        assert session.device.target == "wgsl"
        with session.bind({"a": given, "b": b}, {"y": y}) as bound:
            bound.submit().wait()
        found = np.frombuffer(callers.queue.read_buffer(y, 0, SIZE), np.float32)
        np.testing.assert_allclose(found, chain_result(a, b), 1e-5, 1e-5)
        mapped = callers.create_buffer(size=256, usage=usage, mapped_at_creation=True)
        with pytest.raises(InputError, match="is mapped for the host; unmap it before"):
            session.bind({"a": mapped, "b": b})
        unfit = callers.create_buffer(size=256, usage="COPY_DST")
        with pytest.raises(InputError, match="made without the usage STORAGE"):
            session.bind({"a": a, "b": b}, {"y": unfit})
    with (
        load(folder, device=webgpu_device) as session,
        pytest.raises(InputError, match=r"another device; load the model with context= the wgpu"),
    ):
        session.bind({"a": a, "b": b}, {"y": y})


def test_textures_of_bytes(tmp_path: Path, callers: Any) -> None:
    """As cameras and renderers have them: copied on the device, row by row."""
    shape = (1, 5, 7, 4)
    content = file_of(Op("NEG", (Tensor("x", shape),), (Tensor("y", shape),)))
    options = Options(
        target="wgsl",
        device="webgpu",
        inputs=(("x", "rgba8"),),
        outputs=(("y", "rgba8, mean=255"),),
    )
    pixels = np.random.default_rng(7).integers(0, 256, shape, np.uint8)
    made = {"size": (7, 5, 1), "format": "rgba8unorm", "usage": "COPY_SRC | COPY_DST"}
    image, result = (callers.create_texture(**made) for _ in range(2))
    layout = {"bytes_per_row": 28, "rows_per_image": 5}
    callers.queue.write_texture({"texture": image}, pixels, layout, (7, 5, 1))
    folder = pipeline.write(pipeline.build(content, options), tmp_path)
    with (
        tflgpu.load(folder, context=callers) as session,
        session.bind({"x": image}, {"y": result}) as bound,
    ):
        bound.run()
        read = callers.queue.read_texture({"texture": result}, layout, (7, 5, 1))
        np.testing.assert_array_equal(np.frombuffer(read, np.uint8).reshape(shape), 255 - pixels)
