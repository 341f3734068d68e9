"""Compiled kernels that are damaged, others' or cannot be written: replaced, or done without."""

import os
import stat
import warnings
from pathlib import Path
from typing import Any

import pytest
from devices import Attached, device_kinds, opencl_devices, unavailable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import chain, check
from platforms import posix
from stored import open_attached, stored

from tflgpu.runtime import CacheWarning, DeviceError, PlanError, load
from tflgpu.runtime.cache import binaries
from tflgpu.runtime.cache.binaries import (
    BINARIES,
    HEADER,
    device_key,
    join_programs,
    read_binary,
    split,
    split_programs,
    unpack,
    write_binary,
)
from tflgpu.runtime.cache.folder import lock
from tflgpu.runtime.cache.variant import read_plan
from tflgpu.runtime.execution import execution


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with the name of each device that is given back."""
    seen: list[str] = []

    def watch(kind: Any) -> None:
        original = kind.release

        def release(self: Any) -> None:
            seen.append(str(self.info))
            original(self)

        monkeypatch.setattr(kind, "release", release)

    for kind in device_kinds():
        watch(kind)
    return seen


def test_a_binary_of_another_driver(folder: Path, attached: Attached, builds: list[str]) -> None:
    """Even in a file whose header is right, it is found out and replaced."""
    device, plan = open_attached(attached), read_plan(folder)
    for payload in (b"", b"\x7fELF" + bytes(999), join_programs([b"poclbin" + bytes(99)], [0] * 3)):
        write_binary(folder, device, plan, payload)
        check(folder, attached.device)
    assert len(builds) == 3
    check(folder, attached.device)
    assert len(builds) == 3
    device.release()


def test_a_binary_that_is_found_out_when_it_is_used(
    folder: Path, attached: Attached, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where kernels are bound to memory, as some drivers notice no earlier."""
    check(folder, attached.device)

    def refuse(*_: object) -> None:
        raise DeviceError("invalid kernel")

    monkeypatch.setattr(execution, "bind_commands", refuse)
    check(folder, attached.device)
    assert len(builds) == 2


def test_binaries_swapped_between_drivers(
    tmp_path: Path, opengl_device: str, builds: list[str]
) -> None:
    """Between two of OpenCL, or else one of OpenCL and one of OpenGL."""
    drivers = [Attached("opencl", name) for name in opencl_devices()]
    drivers = [*drivers, Attached("glsl", opengl_device)][:2]
    if len(drivers) < 2:
        unavailable("no OpenCL device is present")
    folders = [chain(target=each.target).write(tmp_path / str(each)) for each in drivers]
    plans = [read_plan(folder) for folder in folders]
    opened = [open_attached(each) for each in drivers]
    for folder, each in zip(folders, drivers, strict=True):
        check(folder, each.device)
    places = list(zip(folders, opened, plans, strict=True))
    contents = [read_binary(*place) for place in places]
    for place, content in zip(places, reversed(contents), strict=True):
        assert content is not None
        write_binary(*place, content)
    for folder, each in zip(folders, drivers, strict=True):
        check(folder, each.device)
    assert len(builds) == 4
    assert [read_binary(*place) for place in places] == contents
    for device in opened:
        device.release()


@pytest.mark.parametrize("damage", ["gone", "empty", "truncated", "flipped", "folder", "link"])
def test_damage_is_repaired(
    folder: Path, attached: Attached, builds: list[str], tmp_path: Path, damage: str
) -> None:
    check(folder, attached.device)
    (file,) = stored(folder)
    content = file.read_bytes()
    file.unlink()
    if damage == "folder":
        file.mkdir()
    elif damage == "link":
        (tmp_path / "outside").write_bytes(content)
        file.symlink_to(tmp_path / "outside")
    elif damage != "gone":
        flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        file.write_bytes({"empty": b"", "truncated": content[:-1], "flipped": flipped}[damage])
    if damage == "folder":
        with pytest.warns(CacheWarning, match="Is a directory"):
            check(folder, attached.device)
        return
    check(folder, attached.device)
    assert len(builds) == 2
    assert file.is_file()
    assert not file.is_symlink()
    check(folder, attached.device)
    assert len(builds) == 2


@settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_damage_is_noticed(data: st.DataObject) -> None:
    key, payload = '{"device": "x"}', bytes(range(97))
    whole = _file(key, payload)
    assert unpack(whole, key) == payload
    assert split(whole) == (key.encode(), payload)
    content = bytearray(whole[: data.draw(st.integers(0, len(whole)), "bytes left")])
    for _ in range(data.draw(st.integers(0 if len(content) < len(whole) else 1, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1), "byte")] ^= data.draw(
                st.integers(1, 255), "bits"
            )
    if content != whole:
        assert split(bytes(content)) is None


def _file(key: str, payload: bytes) -> bytes:
    body = key.encode() + payload
    digest = binaries.digest_of(len(key), body)
    return HEADER.pack(binaries.MAGIC, binaries.FORMAT_VERSION, digest, len(key)) + body


@given(st.binary(max_size=80))
def test_no_bytes_upset_the_table(data: bytes) -> None:
    parts = split_programs(data)
    if parts is not None:
        assert join_programs(*parts) == data


@posix
@pytest.mark.parametrize("target", [BINARIES, f"{BINARIES}/x"])
def test_what_others_can_write_is_not_used(
    folder: Path, attached: Attached, builds: list[str], target: str
) -> None:
    check(folder, attached.device)
    (file,) = stored(folder)
    if target == BINARIES:
        file.parent.chmod(0o777)
        with pytest.warns(CacheWarning, match="can be written to by other users") as found:
            check(folder, attached.device)
        assert found[0].filename == check.__code__.co_filename
        return
    file.chmod(0o666)
    check(folder, attached.device)
    assert len(builds) == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["fsync", "replace", "makedirs"])
def test_a_cache_that_cannot_be_written_is_a_warning(
    folder: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "makedirs":
        monkeypatch.setattr(Path, "mkdir", fail)
    else:
        monkeypatch.setattr(os, step, fail)
    with pytest.warns(CacheWarning, match="No space left on device"):
        check(folder, attached.device)
    monkeypatch.undo()
    assert stored(folder) == []
    check(folder, attached.device)
    assert len(stored(folder)) == 1


def test_a_warning_made_an_error_leaves_nothing_open(
    folder: Path, attached: Attached, releases: list[str]
) -> None:
    (folder / BINARIES).write_text("a file in the place of the folder")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CacheWarning, match="is a file, but a cache is a folder"):
            load(folder, device=attached.device)
    assert releases.count(attached.device) == 1


def test_a_lock_that_is_held(
    folder: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "LOCK_SECONDS", 0.1)
    with lock(folder), pytest.warns(CacheWarning, match="another process holds its lock"):
        check(folder, attached.device)


def test_leftovers_go(folder: Path, attached: Attached) -> None:
    device = open_attached(attached)
    (folder / BINARIES).mkdir(0o700)
    leftover = folder / BINARIES / f".{device_key(device.info)}.abc.tmp"
    leftover.write_bytes(b"half")
    device.release()
    check(folder, attached.device)
    assert not leftover.exists()
    assert len(stored(folder)) == 1


def test_an_older_variant_is_taken_up_if_the_newest_cannot_run(
    folder: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = chain(target=attached.target).write(folder.parents[1], "newer")
    for path, age in ((folder, 1000), (newer, 2000)):
        check(path, attached.device)
        os.utime(path / "plan.tflgpu", (age, age))
    refused: list[str] = []

    def refuse_once(kind: Any) -> None:
        original = kind.unsupported_reason

        def unsupported_reason(self: Any, plan: Any) -> str | None:
            if not refused:
                refused.append("once")
                return "not this one"
            found: str | None = original(self, plan)
            return found

        monkeypatch.setattr(kind, "unsupported_reason", unsupported_reason)

    for kind in device_kinds():
        refuse_once(kind)
    check(folder.parents[1], attached.device)
    assert refused


def test_the_device_is_released_when_the_weights_are_damaged(
    folder: Path, attached: Attached, releases: list[str]
) -> None:
    check(folder, attached.device)
    releases.clear()
    weights = folder / "weights.bin"
    weights.write_bytes(bytes(weights.stat().st_size))
    with pytest.raises(PlanError, match=r"weights\.bin is damaged"):
        load(folder, device=attached.device)
    assert releases.count(attached.device) == 1
