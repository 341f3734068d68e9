"""Compiled kernels kept beside the plan: used where they fit, and only there."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Attached
from paths import DIGITS_MODEL
from plans import ADD, chain, check, copy, copy_source, kernel
from platforms import posix
from shared_programs import build_anew
from stored import open_attached, stored

import tflgpu
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import BuildError, load
from tflgpu.runtime.cache import binaries
from tflgpu.runtime.cache.binaries import BINARIES, binary_key, device_key, read_binary
from tflgpu.runtime.cache.variant import read_plan
from tflgpu.runtime.opencl.programs import OpenCLPrograms
from tflgpu.runtime.plan.records import Plan, TensorInfo


def test_the_second_load_compiles_nothing(
    folder: Path, attached: Attached, builds: list[str]
) -> None:
    check(folder, attached.device)
    (file,) = stored(folder)
    assert len(builds) == 1
    before = file.stat()
    for _ in range(2):
        check(folder, attached.device)
    assert len(builds) == 1
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@posix
def test_binaries_are_private(folder: Path, attached: Attached) -> None:
    before = os.umask(0)
    try:
        check(folder, attached.device)
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / BINARIES).stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in stored(folder)] == [0o600]


def test_nothing_is_stored_unasked(folder: Path, attached: Attached) -> None:
    load(folder, device=attached.device, store_binaries=False).close()
    assert stored(folder) == []


def test_prebuilt_kernels_are_not_compiled_again(
    tmp_path: Path, attached: Attached, builds: list[str]
) -> None:
    """Nor do they change what is compiled: with and without them it is one variant."""
    compiled = partial(
        tflgpu.compile,
        *(DIGITS_MODEL, tmp_path / "cache"),
        target=attached.target,
        device=attached.device,
    )
    plain = compiled()
    assert stored(plain) == []
    folder = compiled(prebuild=attached.device)
    assert folder == plain
    assert len(stored(folder)) == len(builds) == 1
    image = np.random.default_rng(17).random((1, 8, 8, 1), np.float32)
    with load(folder, device=attached.device) as session:
        (probabilities,) = session.run(image).values()
    assert len(builds) == 1
    np.testing.assert_allclose(probabilities, Reference(DIGITS_MODEL).run([image])[0], 1e-4, 1e-4)


def test_identical_sources_are_compiled_once(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files with the same kernel, whose names keep all from being one program."""
    parts = chain()
    kernels = (*parts.plan.kernels, kernel("add", "kernels/003_add.cl", ADD))
    sources = {**parts.sources, "kernels/003_add.cl": ADD}
    dispatches = (*parts.plan.dispatches, replace(parts.plan.dispatches[0], kernel=3))
    changed = parts.replacing(kernels=kernels, dispatches=dispatches)
    folder = replace(changed, sources=sources).write(tmp_path / "cache")
    compiled: list[str] = []
    original = OpenCLPrograms._program

    def compile_content(self: OpenCLPrograms, content: str | bytes) -> Any:
        if isinstance(content, str):
            compiled.append(content)
        return original(self, content)

    build_anew(monkeypatch)
    monkeypatch.setattr(OpenCLPrograms, "_program", compile_content)
    check(folder, opencl_device)
    assert len(compiled) == 3
    check(folder, opencl_device)
    assert len(compiled) == 3


CHANGES: dict[str, Callable[[Any, pytest.MonkeyPatch], None]] = {
    "driver": lambda device, patch: patch.setattr(
        device, "info", replace(device.info, driver="9.9")
    ),
    "platform": lambda device, patch: patch.setattr(
        device, "info", replace(device.info, version="OpenCL 3.0 other")
    ),
    "device": lambda device, patch: patch.setattr(
        device, "info", replace(device.info, name="another")
    ),
    "options": lambda device, patch: patch.setattr(
        Plan, "schedule", lambda plan, groups: replace(plan.schedules[-1], options="-w")
    ),
    "processor": lambda device, patch: patch.setattr(binaries, "instruction_set", lambda: "8086"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_misses(
    folder: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    check(folder, attached.device)
    device, plan = open_attached(attached), read_plan(folder)
    assert read_binary(folder, device, plan) is not None
    CHANGES[change](device, monkeypatch)
    # The code for a GPU does not depend on the processor.
    depends = change != "processor" or device.info.type == "cpu"
    assert (read_binary(folder, device, plan) is None) == depends
    device.release()


def test_a_source_misses(folder: Path, attached: Attached) -> None:
    check(folder, attached.device)
    device, plan = open_attached(attached), read_plan(folder)
    first = plan.kernels[0]
    for other in (
        replace(first, sha256=bytes(32)),
        replace(first, name="other"),
        replace(first, file="kernels/other.cl"),
    ):
        changed = replace(plan, kernels=(other, *plan.kernels[1:]))
        assert read_binary(folder, device, changed) is None
    # What does not reach the device's compiler changes nothing.
    assert read_binary(folder, device, replace(plan, model="renamed", passes="[1]")) is not None
    device.release()


def test_devices_have_files_of_their_own(attached: Attached) -> None:
    device = open_attached(attached)
    keys = {device_key(device.info), device_key(replace(device.info, driver="9.9"))}
    assert {len(key) for key in keys} == {32}
    assert len(keys) == 2
    device.release()


def test_keys_are_text_for_people(attached: Attached) -> None:
    device = open_attached(attached)
    key = binary_key(device, chain().plan)
    assert device.info.name in key
    assert device.info.version in key
    device.release()


def test_build_errors_name_file_and_line(tmp_path: Path, opencl_device: str) -> None:
    broken = copy_source("float").replace("y[get_global_id(0)] =", "\n  y[0] = nothing;\n  y[0] =")
    parts = copy(TensorInfo("x", (5,), "float32"))
    file = parts.plan.kernels[0].file
    parts = replace(
        parts.replacing(kernels=(kernel("main_kernel", file, broken),)), sources={file: broken}
    )
    line = broken.split("\n").index("  y[0] = nothing;") + 1
    with pytest.raises(BuildError) as caught:
        load(parts.write(tmp_path / "cache"), device=opencl_device)
    assert caught.value.kernel == file
    assert f"{file}:{line}:" in caught.value.log
    assert f"{line} |   y[0] = nothing;" in caught.value.source
