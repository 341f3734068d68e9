"""Disks that are full or read-only, folders that vanish, and clocks that go backwards."""

import os
import resource
import shutil
import signal
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import Attached, device_kinds
from disks import mounted
from plans import LENGTH, chain, chain_result, check
from platforms import linux

from tflgpu.runtime import CacheWarning, PlanError, load
from tflgpu.runtime.cache.binaries import BINARIES, write_binary
from tflgpu.runtime.cache.folder import find_variants
from tflgpu.runtime.execution import execution


@linux
@pytest.mark.parametrize("kilobytes", [4, 8, 16, 24, 28, 32])
def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, attached: Attached, kilobytes: int
) -> None:
    """The plan takes seven pages with its folders; without room for it there is no trace of it."""
    with mounted(tmp_path / "disk", f"size={kilobytes}k") as cache:
        try:
            folder = chain(target=attached.target).write(cache)
        except PlanError as error:
            assert "No space left on device" in str(error)
            assert [
                path for path in cache.rglob("*") if path.is_file() and path.stat().st_size
            ] == []
            with pytest.raises(PlanError, match="holds no compiled model"):
                find_variants(cache)
            return
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            check(folder, attached.device)
        # What OpenGL drivers compile kernels to is so small that there can be room for it.
        binaries = list((folder / BINARIES).glob("*"))
        assert len(told) + len(binaries) == 1
        assert all("No space left on device" in str(warning.message) for warning in told)


@linux
def test_read_only_disk(tmp_path: Path, attached: Attached) -> None:
    with mounted(tmp_path / "disk", "size=1m") as cache:
        folder = chain(target=attached.target).write(cache)
        subprocess.run(["mount", "-o", "remount,ro", str(cache)], check=True)
        for _ in range(2):
            with pytest.warns(CacheWarning, match="Read-only file system"):
                check(folder, attached.device)
        with pytest.raises(PlanError, match="Read-only file system"):
            chain("cd" * 32, target=attached.target).write(cache)
        subprocess.run(["mount", "-o", "remount,rw", str(cache)], check=True)
        check(folder, attached.device)
        subprocess.run(["mount", "-o", "remount,ro", str(cache)], check=True)
        # What is stored is used without a word.
        check(folder, attached.device)


@linux
def test_files_that_may_not_grow(
    tmp_path: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on the size of files fails like a full disk, for users who can mount nothing."""
    folder = chain(target=attached.target).write(tmp_path / "cache")

    def write_limited(*arguments: Any) -> None:
        # Drivers also write files, and some end the process if they cannot.
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            write_binary(*arguments)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)

    with monkeypatch.context() as patch, pytest.warns(CacheWarning, match="File too large"):
        patch.setattr(execution, "write_binary", write_limited)
        check(folder, attached.device)
    assert list((folder / BINARIES).glob("*")) == []
    check(folder, attached.device)
    assert len(list((folder / BINARIES).glob("*.bin"))) == 1


@linux
def test_folder_deleted_while_in_use(tmp_path: Path, attached: Attached) -> None:
    a, b = np.random.default_rng(13).uniform(-1, 1, (2, LENGTH)).astype(np.float32)
    folder = chain(target=attached.target).write(tmp_path / "cache")
    with load(folder, device=attached.device) as session:
        shutil.rmtree(tmp_path / "cache")
        for _ in range(3):
            np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)
    with pytest.raises(PlanError, match="there is no cache"):
        load(folder, device=attached.device)


@linux
def test_folder_deleted_while_loading(
    tmp_path: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the plan was read and before the kernels are stored."""
    folder = chain(target=attached.target).write(tmp_path / "cache")

    def spoil(kind: Any) -> None:
        original = kind.build

        def build(self: Any, *kernels: Any) -> Any:
            shutil.rmtree(tmp_path / "cache")
            return original(self, *kernels)

        monkeypatch.setattr(kind, "build", build)

    for kind in device_kinds():
        spoil(kind)
    with pytest.warns(CacheWarning, match="No such file or directory"):
        check(folder, attached.device)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("moment", [-1e9, 0, 1e9, 4e9])
def test_clock_going_backwards(tmp_path: Path, attached: Attached, moment: float) -> None:
    """Times of files decide nothing but which of several variants is the newest."""
    cache = tmp_path / "cache"
    folder = chain(target=attached.target).write(cache)
    check(folder, attached.device)
    for path in (cache, *cache.rglob("*")):
        os.utime(path, (moment, moment))
    assert chain(target=attached.target).write(cache) == folder
    check(cache, attached.device)
    (binary,) = (folder / BINARIES).iterdir()
    assert binary.stat().st_mtime == moment
    chain(target=attached.target).replacing(compiler="0.2.0").write(cache, "other")
    check(cache, attached.device)
