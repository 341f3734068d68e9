"""Many processes, many threads and many sessions: each ends well and leaves nothing behind."""

import re
import subprocess
import sys
import threading
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
from devices import Attached
from plans import chain, check
from plans.processes import (
    allocate_too_much,
    compile_and_load,
    cycles,
    load_in_threads,
    prune_for_a_while,
    replace_and_load,
    write_for_a_while,
)
from platforms import linux

from tflgpu.runtime import DeviceError, PlanError, load
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.opengl import egl

pytestmark = pytest.mark.shared

SECONDS_TO_END = 60
CYCLES = 500
GROWTH = 8192  # Bytes a session may leave behind in the driver, on average.


def variant(cache: Path) -> Path:
    return cache / ("ab" * 32) / "variant"


@linux
def test_processes_compile_and_load_at_once(
    tmp_path: Path, server: ForkServerContext, attached: Attached
) -> None:
    cache, start = tmp_path / "cache", server.Event()
    arguments = (cache, attached.target, attached.device, start, 3)
    processes = [server.Process(target=compile_and_load, args=arguments) for _ in range(8)]
    _all_end_well(start, processes)
    folder = variant(cache)
    assert sorted(path.name for path in folder.parent.iterdir()) == [".variant.lock", "variant"]
    if attached.keeps_binaries:
        assert [path.suffix for path in (folder / BINARIES).iterdir()] == [".bin"]


@linux
def test_processes_write_what_others_remove(tmp_path: Path, server: ForkServerContext) -> None:
    cache, start = tmp_path / "cache", server.Event()
    chain().write(cache)
    seconds = 4.0
    _all_end_well(
        start,
        [
            server.Process(target=target, args=(cache, start, seconds))
            for target in (*[write_for_a_while] * 3, *[prune_for_a_while] * 2)
        ],
    )
    assert [path for path in cache.iterdir() if path.name.endswith(".tmp")] == []


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
    if attached.keeps_binaries:
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


@linux
def test_cycles(tmp_path: Path, server: ForkServerContext, attached: Attached) -> None:
    folder = chain(target=attached.target).write(tmp_path / "cache")
    arguments = (folder, attached.device, CYCLES, GROWTH)
    _all_end_well(server.Event(), [server.Process(target=cycles, args=arguments)])


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
    assert re.search("ALLOCATION_FAILURE|OUT_OF|Not enough memory", message)


def test_no_thread_to_be_had(
    tmp_path: Path, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other threads do while a model is loaded is done by this one then."""
    if attached.target == "wgsl":
        pytest.skip("wgpu itself starts a thread for each device")
    folder = chain(target=attached.target).write(tmp_path / "cache")

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    monkeypatch.setattr(egl, "_STARTED", [])
    check(folder, attached.device)
    (folder / "weights.bin").write_bytes(bytes(len(chain().weights)))
    with pytest.raises(PlanError, match=r"weights\.bin is damaged"):
        load(folder, device=attached.device)


@pytest.mark.parametrize("target", ["opencl", "glsl", "wgsl"])
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


def test_an_end_waits_for_drivers() -> None:
    """Their global objects, which the end of a process destroys, are used while they start."""
    program = (
        "import time; from tflgpu.runtime.startup import in_background\n"
        "in_background(lambda: (time.sleep(0.3), print('started')), 'drivers')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "started\n", "")
