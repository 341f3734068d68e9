"""Processes killed while they compile or load: a whole plan or none, and no harm to the next."""

import random
import signal
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from devices import Attached
from plans import chain, check
from plans.processes import compile_for_ever, load_for_ever
from platforms import linux

from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.cache.folder import find_variants
from tflgpu.runtime.cache.variant import read_variant

KILLS_WHILE_COMPILING = 40

KILLS_WHILE_LOADING = 10

SECONDS_TO_END = 60


def variant(cache: Path) -> Path:
    return cache / ("ab" * 32) / "variant"


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
    start = time.perf_counter()
    chain().write(tmp_path / "timed")
    longest = max(0.12, 3 * (time.perf_counter() - start))
    present = 0
    for _ in range(KILLS_WHILE_COMPILING):
        started = server.Event()
        process = server.Process(target=compile_for_ever, args=(cache, started))
        _kill_after(process, moments.uniform(0.005, longest), started)
        try:
            present += read_variant(find_variants(cache)[0]).plan.model == "chain.tflite"
        except PlanError as error:
            # Killed before the first plan was in place, or between taking away the old and
            # putting the new one there.
            assert "holds no compiled model" in str(error) or "there is no cache" in str(error)
            # A process that shares its processor needs longer for its first plan.
            longest = min(1.5 * longest, 3.0)
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
