"""Faults from outside: damaged files, killed processes, full and read-only disks, other processes.

Whatever happens, a load gives the right result or a TflgpuError, never a crash or a wrong result,
and the next compilation puts everything right. Processes are forked from a server that has never
called a driver, since drivers do not survive a fork.
"""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Attached, device_kinds, unavailable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import LENGTH, chain, chain_result, check
from processes import (
    allocate_too_much,
    compile_and_load,
    compile_for_ever,
    cycles,
    load_for_ever,
    load_in_threads,
    replace_and_load,
)

from tflgpu.runtime import CacheWarning, DeviceError, PlanError, execution, load
from tflgpu.runtime.background import Startup
from tflgpu.runtime.store.binaries import BINARIES, write_binary
from tflgpu.runtime.store.cache import find_variants
from tflgpu.runtime.store.variant import KERNELS, read_variant

KILLS_WHILE_COMPILING = 40
KILLS_WHILE_LOADING = 10
SECONDS_TO_END = 60
GROWTH = 8192
"""Bytes a session may leave behind in the driver, on average."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes and mounts of Linux")


@pytest.fixture(scope="module")
def server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["processes"])
    with pytest.MonkeyPatch.context() as patch:
        # The server does not take over sys.path before it imports.
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        forkserver.ensure_running()
    return context


def variant(cache: Path) -> Path:
    return cache / ("ab" * 32) / "variant"


# -- damage -----------------------------------------------------------------------------------


@pytest.fixture
def loaded(tmp_path: Path, attached: Attached) -> Path:
    """A variant that tests damage and repair."""
    return chain(target=attached.target).write(tmp_path / "cache")


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damage_anywhere(loaded: Path, attached: Attached, data: st.DataObject) -> None:
    """Files cut off and bits flipped: PlanError, or the right result where nothing relies on it."""
    check(loaded, attached.device)
    files = sorted(path for path in loaded.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files), "file")
    content = path.read_bytes()
    damaged = bytearray(content[: data.draw(st.integers(0, len(content)), "bytes left")])
    for _ in range(data.draw(st.integers(1, 3), "bytes changed")):
        if damaged:
            place = data.draw(st.integers(0, len(damaged) - 1), "byte")
            damaged[place] ^= data.draw(st.integers(1, 255), "bits")
    path.write_bytes(damaged)
    stored = loaded / BINARIES
    try:
        if path.parent == stored or damaged == content:
            check(loaded, attached.device)
            return
        if path.parent.name == KERNELS:
            # Nothing reads them unless they have to be compiled.
            check(loaded, attached.device)
            stored.rename(loaded / "aside")
        with pytest.raises(PlanError, match=path.name):
            load(loaded, device=attached.device)
    finally:
        path.write_bytes(content)
        if (loaded / "aside").exists():
            (loaded / "aside").rename(stored)


# -- killed processes -------------------------------------------------------------------------


def _kill_after(process: Any, seconds: float, started: Any = None) -> None:
    """Kill a process so many seconds after it has started, or says that it has."""
    process.start()
    if started is not None:
        started.wait(SECONDS_TO_END)
    time.sleep(seconds)
    process.kill()
    process.join(SECONDS_TO_END)
    assert process.exitcode == -signal.SIGKILL


@linux
def test_killed_while_compiling(tmp_path: Path, server: ForkServerContext) -> None:
    """At any moment there is a whole plan or none, and the next compilation succeeds."""
    cache, moments = tmp_path / "cache", random.Random(1)
    present = 0
    for _ in range(KILLS_WHILE_COMPILING):
        started = server.Event()
        process = server.Process(target=compile_for_ever, args=(cache, started))
        _kill_after(process, moments.uniform(0.005, 0.12), started)
        try:
            present += read_variant(find_variants(cache)[0]).plan.model == "chain.tflite"
        except PlanError as error:
            # Killed before the first plan was in place, or between taking away the old and
            # putting the new one there.
            assert "holds no compiled model" in str(error) or "there is no cache" in str(error)
    assert present > KILLS_WHILE_COMPILING // 4
    assert chain().write(cache) == variant(cache)
    assert read_variant(variant(cache)).plan == chain().plan
    left = [path.name for path in variant(cache).parent.iterdir()]
    assert sorted(left) == [".variant.lock", "variant"]


@linux
def test_killed_while_loading(
    tmp_path: Path, server: ForkServerContext, attached: Attached
) -> None:
    parts, moments = chain(target=attached.target), random.Random(2)
    folder = parts.write(tmp_path / "cache")
    for _ in range(KILLS_WHILE_LOADING):
        process = server.Process(target=load_for_ever, args=(folder, attached.device))
        _kill_after(process, moments.uniform(0.1, 0.7))
        assert read_variant(folder).plan == parts.plan
    check(folder, attached.device)
    check(folder, attached.device)
    assert [path.suffix for path in (folder / BINARIES).iterdir()] == [".bin"]


# -- several processes ------------------------------------------------------------------------


@linux
@pytest.mark.parametrize("count", [2, 8])
def test_processes_compile_and_load_at_once(
    tmp_path: Path, server: ForkServerContext, attached: Attached, count: int
) -> None:
    cache, start = tmp_path / "cache", server.Event()
    _all_end_well(
        start,
        [
            server.Process(
                target=compile_and_load, args=(cache, attached.target, attached.device, start, 3)
            )
            for _ in range(count)
        ],
    )
    folder = variant(cache)
    assert sorted(path.name for path in folder.parent.iterdir()) == [".variant.lock", "variant"]
    assert [path.suffix for path in (folder / BINARIES).iterdir()] == [".bin"]


@linux
def test_processes_replace_what_others_load(
    tmp_path: Path, server: ForkServerContext, attached: Attached
) -> None:
    cache, start = tmp_path / "cache", server.Event()
    chain(target=attached.target).write(cache)
    _all_end_well(
        start,
        [
            server.Process(
                target=replace_and_load,
                args=(cache, attached.target, attached.device, start, 6, number),
            )
            for number in range(4)
        ],
    )


@linux
@pytest.mark.parametrize("stored", [False, True])
def test_threads_load_at_once(
    tmp_path: Path, server: ForkServerContext, attached: Attached, stored: bool
) -> None:
    """All of them compile and store the kernels, or all take the same binary up."""
    folder, start = chain(target=attached.target).write(tmp_path / "cache"), server.Event()
    if stored:
        check(folder, attached.device)
    arguments = (folder, attached.device, 6)
    _all_end_well(start, [server.Process(target=load_in_threads, args=arguments)])
    check(folder, attached.device)
    assert [path.suffix for path in (folder / BINARIES).iterdir()] == [".bin"]


def _all_end_well(start: Any, started: list[Any]) -> None:
    for process in started:
        process.start()
    start.set()
    deadline = time.monotonic() + SECONDS_TO_END
    for process in started:
        process.join(max(0, deadline - time.monotonic()))
    codes = [process.exitcode for process in started]
    for process in started:
        process.kill()
    assert codes == [0] * len(started)


# -- disks ------------------------------------------------------------------------------------


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system in memory."""
    folder.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        unavailable("this user cannot mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@linux
@pytest.mark.parametrize("kilobytes", [4, 8, 16, 24, 28, 32])
def test_full_disk(tmp_path: Path, attached: Attached, kilobytes: int) -> None:
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


# -- clocks -----------------------------------------------------------------------------------


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


# -- the device -------------------------------------------------------------------------------


@linux
def test_cycles(tmp_path: Path, server: ForkServerContext, attached: Attached) -> None:
    _run_cycles(tmp_path, server, attached, 50)


@linux
@pytest.mark.slow
def test_many_cycles(tmp_path: Path, server: ForkServerContext, attached: Attached) -> None:
    _run_cycles(tmp_path, server, attached, 500)


def _run_cycles(folder: Path, server: ForkServerContext, attached: Attached, count: int) -> None:
    variant_folder = chain(target=attached.target).write(folder / "cache")
    arguments = (variant_folder, attached.device, count, GROWTH)
    process = server.Process(target=cycles, args=arguments)
    process.start()
    process.join(SECONDS_TO_END)
    code = process.exitcode
    process.kill()
    assert code == 0


@linux
def test_out_of_memory(tmp_path: Path, server: ForkServerContext, attached: Attached) -> None:
    parts = chain(target=attached.target)
    folder = parts.write(tmp_path / "cache")
    parts.replacing(arena_size=1 << 30).write(tmp_path / "cache", "large")
    queue = server.SimpleQueue()
    process = server.Process(target=allocate_too_much, args=(folder, attached.device, queue))
    process.start()
    process.join(SECONDS_TO_END)
    assert process.exitcode == 0
    kind, message = queue.get()
    assert kind == DeviceError.__name__
    assert "while allocating 1073741824 bytes" in message
    assert "ALLOCATION_FAILURE" in message or "OUT_OF" in message


def test_no_thread_to_be_had(
    tmp_path: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other threads do while a model is loaded is done by this one then."""
    folder = chain(target=attached.target).write(tmp_path / "cache")

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    monkeypatch.setattr(Startup, "start", lambda self: lambda: self._work())
    check(folder, attached.device)
    (folder / "weights.bin").write_bytes(bytes(len(chain().weights)))
    with pytest.raises(PlanError, match=r"weights\.bin is damaged"):
        load(folder, device=attached.device)


@pytest.mark.parametrize("target", ["opencl", "glsl"])
def test_an_end_while_drivers_start(tmp_path: Path, target: str) -> None:
    """They start before the plan has been read, and so before it is found to be damaged."""
    folder = chain(target=target).write(tmp_path, f"{target}-f32")
    (folder / "plan.tflgpu").write_bytes(b"damaged")
    program = (
        "from tflgpu.runtime import PlanError, load\n"
        f"try: load({str(folder)!r})\n"
        "except PlanError as error: print(error)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "is not a plan of tflgpu" in ended.stdout
