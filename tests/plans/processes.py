"""What the processes do that the tests of faults start, kill and starve.

Nothing here may call a driver while it is imported: the server that processes are forked from
imports it, and drivers do not survive a fork.
"""

import ctypes
import os
import resource
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from tflgpu.runtime import TflgpuError, load
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.cache.housekeeping import prune
from tflgpu.runtime.cache.variant import read_variant

from .chain import chain, check

SECONDS_TO_START = 60


def compile_for_ever(cache: Path, started: Any) -> None:
    """Write the variant, each time with another plan, so that it is replaced each time."""
    started.set()
    number = 0
    while True:
        number += 1
        chain().replacing(compiler=f"0.{number}").write(cache)


def load_for_ever(folder: Path, device: str) -> None:
    """Load and forget, so that every load compiles the kernels and stores them."""
    while True:
        check(folder, device)
        shutil.rmtree(folder / BINARIES)


def write_and_read(cache: Path, start: Any) -> None:
    """What was written is what is read, though another process writes the same meanwhile."""
    start.wait(SECONDS_TO_START)
    for _ in range(5):
        assert read_variant(chain().write(cache)).plan == chain().plan


def write_for_a_while(cache: Path, start: Any, seconds: float) -> None:
    """Write the same variant again and again; others remove it meanwhile."""
    start.wait(SECONDS_TO_START)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chain().write(cache)


def prune_for_a_while(cache: Path, start: Any, seconds: float) -> None:
    """Remove everything from a cache again and again."""
    start.wait(SECONDS_TO_START)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        prune(cache, 0)


def compile_and_load(cache: Path, target: str, device: str, start: Any, rounds: int) -> None:
    start.wait(SECONDS_TO_START)
    for _ in range(rounds):
        check(chain(target=target).write(cache), device)


def load_in_threads(folder: Path, device: str, count: int) -> None:
    """Load and run in several threads at once, the first of this process to call a driver."""
    together = Barrier(count)

    def load_together(_: int) -> None:
        together.wait(SECONDS_TO_START)
        check(folder, device)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(load_together, range(count)))


def replace_and_load(
    cache: Path, target: str, device: str, start: Any, rounds: int, number: int
) -> None:
    """What another process compiles at the same time is as right as what this one has."""
    start.wait(SECONDS_TO_START)
    for step in range(rounds):
        chain(target=target).replacing(compiler=f"{number}.{step}").write(cache)
        check(cache, device)


def cycles(folder: Path, device: str, count: int, growth: int) -> None:
    """Create, run and close; memory must not grow by more than `growth` bytes a cycle.

    A leak grows on, unlike what a driver's threads take once, be it early or late.
    """
    for _ in range(20):
        check(folder, device)
    grown: list[int] = []
    while not grown or (grown[-1] > (1 << 20) + growth * count and len(grown) < 3):
        before = _resident()
        for _ in range(count):
            check(folder, device)
        grown.append(_resident() - before)
    assert grown[-1] <= (1 << 20) + growth * count, f"{grown} bytes in {count} cycles each"


def _resident() -> int:
    """Bytes of memory the process has in use, without what the allocator only keeps in store."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def allocate_too_much(folder: Path, device: str, queue: Any) -> None:
    check(folder, device)
    limit = _address_space() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        load(folder.with_name("large"), device=device)
    except TflgpuError as error:
        queue.put((type(error).__name__, str(error)))
    # The driver is none the worse for it.
    check(folder, device)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
