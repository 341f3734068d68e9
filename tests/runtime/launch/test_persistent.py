"""Persistent kernels: they compute the same, in any number of groups, and who launches what."""

import gc
import hashlib
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import conv
from devices import is_gpu, own_profile
from graphs import Value, call, model, x
from paths import DIGITS_MODEL
from shared_programs import build_anew

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.codegen import persistent as dividing
from tflgpu.compiler.codegen.persistent_source import COUNTERS_APART
from tflgpu.compiler.ir import Array
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.errors import BuildError, PlanError
from tflgpu.runtime.opencl import device as opencl
from tflgpu.runtime.opencl import programs
from tflgpu.runtime.opencl.find import open_device
from tflgpu.runtime.plan.records import Region
from tflgpu.runtime.plan.seal import sealed
from tflgpu.runtime.session import Session

pytestmark = pytest.mark.optimized


def network() -> bytes:
    """Convolutions and sums that take long enough for all groups to be at work at once."""
    value: Value = x(1, 83, 79, 3)
    for number in range(6):
        channels = 3 if number == 0 else 37
        value = conv(value, (37, channels))
        if number % 2:
            value = call("SOFTMAX", value, beta=1.0)
    return model({"y": value}).content


def picture(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((1, 83, 79, 3), np.float32)


@pytest.fixture
def opencl_device(opencl_device: str) -> str:
    """A processor: nothing else runs persistent kernels."""
    if is_gpu(opencl_device):
        pytest.skip("it launches every kernel by itself")
    return opencl_device


@pytest.fixture(scope="module")
def content() -> bytes:
    return network()


@pytest.fixture
def folder(tmp_path: Path, content: bytes) -> Path:
    return tflgpu.compile(content, tmp_path / "cache", device="cpu")


@pytest.fixture(scope="module")
def known() -> dict[str, list[Array]]:
    """What the network gives for some inputs on the devices asked so far."""
    return {}


@pytest.fixture
def expected(
    tmp_path: Path, content: bytes, opencl_device: str, known: dict[str, list[Array]]
) -> list[Array]:
    """What the network gives where every dispatch is a launch of its own."""
    if opencl_device not in known:
        profile = own_profile(tmp_path, "cpu", persistent_kernels=0)
        path = tflgpu.compile(content, tmp_path / "single", device=profile)
        with tflgpu.load(path, device=opencl_device) as session:
            assert not session.plan.persistent
            known[opencl_device] = [session.run(picture(seed))["y"] for seed in range(3)]
    return known[opencl_device]


def test_a_plan_for_processors_is_one_launch(folder: Path, opencl_device: str) -> None:
    plan = tflgpu.load(folder, device=opencl_device).plan
    (record,) = plan.persistent
    assert (record.first, record.count) == (0, len(plan.dispatches))
    assert plan.kernels[record.kernel].name == f"persistent_{record.kernel:03}"
    assert record.counters == (2 * record.count + 1) * COUNTERS_APART * 4
    regions = [argument.region for argument in record.arguments]
    assert regions == [Region.ARENA, Region.WEIGHTS, Region.INPUT, Region.OUTPUT]
    assert [argument.writes for argument in record.arguments] == [True, False, False, True]
    assert [len(plan.schedule(groups).submissions) for groups in (0, 2)] == [record.count, 1]
    assert plan.schedule(2).kernels == (record.kernel,)


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 64])
def test_any_number_of_groups(
    folder: Path, opencl_device: str, expected: list[Array], groups: int
) -> None:
    """Also of more than the device has threads, and again and again: counters start from 0."""
    device = open_device(opencl_device)
    device.resident_groups = groups
    with Session(read_variant(folder), device) as session:
        for _ in range(10):
            for seed, value in enumerate(expected):
                session.poison()
                np.testing.assert_array_equal(session.run(picture(seed))["y"], value)


def test_several_sessions_at_once(folder: Path, opencl_device: str, expected: list[Array]) -> None:
    """Their groups compete for the same threads of the driver."""
    wrong: list[int] = []

    def work(session: Session) -> None:
        for _ in range(20):
            for seed, value in enumerate(expected):
                if not np.array_equal(session.run(picture(seed))["y"], value):
                    wrong.append(seed)

    sessions = [tflgpu.load(folder, device=opencl_device) for _ in range(3)]
    threads = [threading.Thread(target=work, args=(session,), daemon=True) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    for session in sessions:
        session.close()


def test_profile_times_each_dispatch(
    folder: Path, opencl_device: str, expected: list[Array]
) -> None:
    with tflgpu.load(folder, device=opencl_device) as session:
        times = session.profile(picture(0))
        assert [index for index, _ in times] == list(range(len(session.plan.dispatches)))
        np.testing.assert_array_equal(session.read("y"), expected[0])
        np.testing.assert_array_equal(session.run(picture(1))["y"], expected[1])


def test_profile_after_a_start_from_binaries(folder: Path, opencl_device: str) -> None:
    """It reads and compiles what the start did not need."""
    tflgpu.load(folder, device=opencl_device).close()
    with tflgpu.load(folder, device=opencl_device) as session:
        before = session.run(picture(0))["y"]
        shutil.move(folder, folder.with_name("moved"))
        with pytest.raises(PlanError, match=r"cannot read .*/kernels"):
            session.profile(picture(0))
        shutil.move(folder.with_name("moved"), folder)
        assert len(session.profile(picture(0))) == len(session.plan.dispatches)
        np.testing.assert_array_equal(session.run(picture(0))["y"], before)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_closed_session_holds_no_files(folder: Path, opencl_device: str) -> None:
    session = tflgpu.load(folder, device=opencl_device)
    assert str(folder / "weights.bin") in Path("/proc/self/maps").read_text()
    session.close()
    gc.collect()
    assert str(folder / "weights.bin") not in Path("/proc/self/maps").read_text()


def test_a_device_without_ordered_atomics(
    folder: Path, opencl_device: str, expected: list[Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencl, "orders_atomics", lambda device: False)
    device = open_device(opencl_device)
    assert device.resident_groups == 0
    with Session(read_variant(folder), device) as session:
        got = session.run(picture(2))["y"]
    np.testing.assert_array_equal(got, expected[2])


def test_a_kernel_that_does_not_compile(tmp_path: Path, opencl_device: str) -> None:
    program = pipeline.build(DIGITS_MODEL, Options(device="cpu"))
    *others, last = program.plan.kernels
    text = program.sources[last.file].replace("int groups", "intt groups")
    broken = replace(last, sha256=hashlib.sha256(text.encode()).digest())
    plan = sealed(replace(program.plan, kernels=(*others, broken)))
    changed = replace(program, plan=plan, sources={**program.sources, last.file: text})
    path = pipeline.write(changed, tmp_path)
    with pytest.raises(BuildError, match=r"008_persistent\.cl"):
        tflgpu.load(path, device=opencl_device)


def test_several_stretches_are_one_program(
    tmp_path: Path,
    content: bytes,
    opencl_device: str,
    expected: list[Array],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same kernel in two of them gives functions of two names."""
    monkeypatch.setattr(dividing, "WORTH", 1.0)
    profile = own_profile(tmp_path, "cpu", persistent_kernels=2)
    folder = tflgpu.compile(content, tmp_path / "cache", device=profile)
    build_anew(monkeypatch)
    monkeypatch.delattr(programs.OpenCLPrograms, "_build_single")
    with tflgpu.load(folder, device=opencl_device) as session:
        assert len(session.plan.persistent) > 1
        np.testing.assert_array_equal(session.run(picture(1))["y"], expected[1])
