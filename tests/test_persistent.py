"""Persistent kernels: what becomes one launch, that it computes the same, and who launches what."""

import gc
import hashlib
import os
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import conv
from expressions import Value, call, ints, model, x
from numpy.typing import NDArray
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, devices, pipeline
from tflgpu.compiler.codegen.persistent import COUNTERS_APART
from tflgpu.compiler.errors import FallbackWarning
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import processor
from tflgpu.runtime.errors import BuildError, PlanError
from tflgpu.runtime.launch.schedule import schedule, used_kernels
from tflgpu.runtime.opencl import device as opencl
from tflgpu.runtime.opencl import programs
from tflgpu.runtime.opencl.find import open_device
from tflgpu.runtime.plan.records import Region
from tflgpu.runtime.session import Session
from tflgpu.runtime.store.variant import read_variant

Array = NDArray[Any]
DIGITS = Path(__file__).parents[1] / "samples" / "digits" / "digits.tflite"
OWN = Path(devices.__file__).parent


def own_profile(tmp_path: Path, name: str, **changes: int | str) -> str:
    """The path of a profile that differs from another one in some values."""
    lines = (OWN / f"{name}.toml").read_text().splitlines()
    for key, value in changes.items():
        lines = [f"{key} = {value}" if line.startswith(f"{key} =") else line for line in lines]
    path = tmp_path / f"{name}-own.toml"
    path.write_text("\n".join(lines))
    return str(path)


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


@pytest.fixture(scope="module")
def content() -> bytes:
    return network()


@pytest.fixture
def folder(tmp_path: Path, content: bytes) -> Path:
    return tflgpu.compile(content, tmp_path / "cache", device="cpu")


@pytest.fixture
def expected(tmp_path: Path, content: bytes, opencl_device: str) -> list[Array]:
    """What the network gives for some inputs where every dispatch is a launch of its own."""
    profile = own_profile(tmp_path, "cpu", persistent_dispatches=0)
    path = tflgpu.compile(content, tmp_path / "single", device=profile)
    with tflgpu.load(path, device=opencl_device) as session:
        assert not session.plan.persistent
        return [session.run(picture(seed))["y"] for seed in range(3)]


def test_one_launch(folder: Path) -> None:
    plan = tflgpu.load(folder).plan
    (record,) = plan.persistent
    assert (record.first, record.count) == (0, len(plan.dispatches))
    assert plan.kernels[record.kernel].name == f"persistent_{record.kernel:03}"
    assert record.counters == (2 * record.count + 1) * COUNTERS_APART * 4
    regions = [argument.region for argument in record.arguments]
    assert regions == [Region.ARENA, Region.WEIGHTS, Region.INPUT, Region.OUTPUT]
    assert [argument.writes for argument in record.arguments] == [True, False, False, True]
    assert [len(schedule(plan, groups)) for groups in (0, 2)] == [record.count, 1]
    assert used_kernels(schedule(plan, 2)) == [record.kernel]


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
    assert (device.resident_groups, device.build_options) == (0, opencl.BUILD_OPTIONS)
    with Session(read_variant(folder), device) as session:
        got = session.run(picture(2))["y"]
    np.testing.assert_array_equal(got, expected[2])


def test_a_kernel_that_does_not_compile(tmp_path: Path, opencl_device: str) -> None:
    program = pipeline.build(DIGITS, Options(device="cpu"))
    *others, last = program.plan.kernels
    text = program.sources[last.file].replace("int groups", "intt groups")
    broken = replace(last, sha256=hashlib.sha256(text.encode()).digest())
    plan = replace(program.plan, kernels=(*others, broken))
    changed = replace(program, plan=plan, sources={**program.sources, last.file: text})
    path = pipeline.store(changed, tmp_path)
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
    profile = own_profile(tmp_path, "cpu", persistent_dispatches=2)
    folder = tflgpu.compile(content, tmp_path / "cache", device=profile)
    monkeypatch.delattr(programs.OpenCLPrograms, "_build_single")
    with tflgpu.load(folder, device=opencl_device) as session:
        assert len(session.plan.persistent) > 2
        np.testing.assert_array_equal(session.run(picture(1))["y"], expected[1])


# -- what is merged ---------------------------------------------------------------------------


def chain(*operators: str) -> bytes:
    """A model of operators in a row, none of which a rewrite takes into another."""
    value: Value = x(1, 5, 7, 11)
    for operator in operators:
        value = call(operator, value, **({"beta": 1.0} if operator == "SOFTMAX" else {}))
    return model({"y": value}).content


def stretches(content: bytes, **options: Any) -> list[tuple[int, int]]:
    plan = pipeline.build(content, Options(**options)).plan
    return [(record.first, record.count) for record in plan.persistent]


@pytest.mark.parametrize(
    ("length", "longest", "merged"),
    [
        (6, 256, [(0, 6)]),
        (6, 4, [(0, 4), (4, 2)]),
        (7, 3, [(0, 3), (3, 3)]),
        (1, 256, []),
        (6, 1, []),
        (6, 0, []),
    ],
)
def test_longest(tmp_path: Path, length: int, longest: int, merged: list[tuple[int, int]]) -> None:
    profile = own_profile(tmp_path, "cpu", persistent_dispatches=longest)
    assert stretches(chain(*["SOFTMAX"] * length), device=profile) == merged


@pytest.mark.parametrize(
    ("place", "merged"),
    [(0, [(0, 4)]), (1, [(1, 3)]), (2, [(0, 2), (2, 2)]), (3, [(0, 3)]), (4, [(0, 4)])],
)
def test_launches_end_at_parts_on_litert(
    tmp_path: Path, opencl_device: str, place: int, merged: list[tuple[int, int]]
) -> None:
    operators = ["SOFTMAX"] * 4
    operators.insert(place, "L2_NORMALIZATION")
    content = chain(*operators)
    options: dict[str, Any] = {"fallback": "litert", "fallback_ops": ("L2_NORMALIZATION",)}
    assert stretches(content, device="cpu", **options) == merged
    array = np.random.default_rng(7).standard_normal((1, 5, 7, 11), np.float32)
    with pytest.warns(FallbackWarning):
        folder = tflgpu.compile(content, tmp_path, device="cpu", **options)
    with tflgpu.load(folder, device=opencl_device) as session:
        first = session.run(array)["y"]
        (expected,) = Reference(content).run([array])
        assert difference(first, expected) is None
        np.testing.assert_array_equal(session.run(array)["y"], first)


def test_kernels_whose_work_items_exchange_data(tmp_path: Path) -> None:
    """On a GPU's profile a group of several work-items adds up a long row; it keeps its launch."""
    profile = own_profile(tmp_path, "gpu", persistent_dispatches=256)
    value: Value = x(5, 4099)
    for operator in ("GATHER", "GATHER", "SOFTMAX", "GATHER", "GATHER", "GATHER"):
        if operator == "GATHER":
            value = call("GATHER", value, ints(2, 1, 0, 3, 4), axis=0, batch_dims=0)
        else:
            value = call("SOFTMAX", value, beta=1.0)
    content = model({"y": value}).content
    plan = pipeline.build(content, Options(device=profile)).plan
    assert "group" in plan.kernels[plan.dispatches[2].kernel].name
    assert stretches(content, device=profile) == [(0, 2), (3, 3)]


def test_only_in_opencl(tmp_path: Path) -> None:
    profile = own_profile(tmp_path, "gpu", persistent_dispatches=256)
    content = chain("SOFTMAX", "SOFTMAX")
    assert stretches(content, device=profile) == [(0, 2)]
    assert stretches(content, device=profile, target="glsl") == []


def test_more_regions_than_a_kernel_takes(tmp_path: Path) -> None:
    """A network has arena, weights, input and output; the counters are one more."""
    content = DIGITS.read_bytes()
    enough = own_profile(tmp_path, "cpu_avx512", max_arguments=5)
    assert stretches(content, device=enough) == [(0, 6)]
    assert stretches(content, device=own_profile(tmp_path, "cpu_avx512", max_arguments=4)) == []


def test_the_same_text_each_time() -> None:
    texts = {
        pipeline.build(DIGITS, Options(device="cpu_avx512")).sources["kernels/006_persistent.cl"]
        for _ in range(3)
    }
    (text,) = texts
    assert "run_step(1, 8, depthwise_pointwise_rows_001_item(0, item, 0, part(arena, 0, " in text
    assert text.count("__kernel") == 1
    # A group of light work-items is called as a whole.
    assert "separate void max_pool_002_group(" in text
    assert "max_pool_002_item(group_0 * 4 + i0, group_1 * 4 + i1, group_2, x, y);" in text


# -- how many groups --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affinity", "files", "count"),
    [
        (8, {}, 8),
        (8, {"cpu.max": "max 100000"}, 8),
        (8, {"cpu.max": "200000 100000"}, 2),
        (8, {"cpu.max": "250000 100000"}, 2),
        (8, {"cpu.max": "1000 100000"}, 1),
        (1, {"cpu.max": "200000 100000"}, 1),
        (8, {"cpu.max": "nonsense"}, 8),
        (8, {"cpu.max": "100000 0"}, 8),
        (8, {"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        (8, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        (8, {"cpu/cpu.cfs_quota_us": "300000"}, 8),
    ],
)
def test_usable_cores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    affinity: int,
    files: dict[str, str],
    count: int,
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(processor, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)), raising=False)
    assert processor.usable_cores() == count


def test_usable_cores_where_none_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert processor.usable_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor.usable_cores() == 1
