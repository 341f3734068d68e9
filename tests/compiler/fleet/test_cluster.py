"""Compiling on workers of Dask, and what happens if they or their scheduler are lost."""

import asyncio
import errno
import gc
import logging
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from socket import gethostname
from threading import Thread
from typing import Any

import dask
import distributed
import psutil
import pytest
from commands import invoke
from tornado.ioloop import IOLoop
from variant_files import variants

import tflgpu
from tflgpu.compiler import OptionError, Options
from tflgpu.compiler.errors import WorkerError
from tflgpu.compiler.fleet import cluster, parcel, processes, scheduled
from tflgpu.compiler.fleet.cluster import Connection, running_loop
from tflgpu.compiler.fleet.workers import compile_file
from tflgpu.compiler.options import Precision
from tflgpu.compiler.version import compiler_version
from tflgpu.runtime.errors import TflgpuWarning

DEVICES = ("mali", "gpu")


def test_the_bytes_are_those_of_this_process(folder: Path, threads: Any, tmp_path: Path) -> None:
    (folder / "COPY.tflite").write_bytes((folder / "ABS.tflite").read_bytes())
    profile = tmp_path / "my gpu.toml"
    profile.write_text(
        (Path(cluster.__file__).parents[1] / "devices/profiles/gpu.toml").read_text()
    )
    common: dict[str, Any] = {
        "devices": (*DEVICES, str(profile)),
        "precisions": ("f32", "f16"),
        "options": Options(precision="f16", keep_f32=("ABS",)),
    }
    here = list(tflgpu.compile_many([folder], tmp_path / "here", **common))
    there = list(
        tflgpu.compile_many(
            [folder], tmp_path / "there", scheduler=threads.scheduler_address, **common
        )
    )
    assert variants(tmp_path / "here") == variants(tmp_path / "there")

    def told(results: list[Any]) -> set[tuple[str, str, str]]:
        return {(item.row.request, item.row.model, item.row.error) for item in results}

    assert told(here) == told(there)
    assert len(there) == 30 and {item.status for item in there} == {"compiled", "present", "failed"}


def test_a_tuning_table_travels(folder: Path, threads: Any, tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"device": "abacus", "kernels": {}}')
    options = Options(tuning=str(tmp_path / "table.json"))
    (result,) = tflgpu.compile_many(
        [folder / "ABS.tflite"],
        tmp_path / "store",
        devices=["gpu"],
        options=options,
        scheduler=threads.scheduler_address,
    )
    assert result.status == "compiled"


@pytest.mark.parametrize("scheduler", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_warnings_of_workers_are_raised_here(
    beyond_half: Path, tmp_path: Path, scheduler: bool, request: pytest.FixtureRequest
) -> None:
    where: dict[str, Any] = {"jobs": 2}
    if scheduler:
        where = {"scheduler": request.getfixturevalue("threads").scheduler_address}
    common: dict[str, Any] = {"devices": DEVICES, "precisions": ["f16"], **where}
    for place in (str(tmp_path / "cache"), (tmp_path / "store").as_uri()):
        with pytest.warns(TflgpuWarning) as found:
            list(tflgpu.compile_many([beyond_half], place, **common))
        assert [each.filename for each in found] == [__file__] * len(DEVICES)
        assert all("half precision holds 65504" in str(each.message) for each in found)


def test_another_version_on_a_worker_is_an_error_before_work_begins(
    folder: Path, threads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = compiler_version()
    monkeypatch.setattr(scheduled, "compiler_version", lambda: "0.0+ours")
    with pytest.raises(WorkerError) as raised:
        list(tflgpu.compile_many([folder], tmp_path, scheduler=threads.scheduler_address))
    first, second = str(raised.value).splitlines()
    expected = f": it has tflgpu {version}, but this is 0.0+ours; install the same on both"
    assert first.startswith("worker tcp://") and first.endswith(expected)
    assert second.endswith(expected)


def test_an_error_of_a_workers_system_stops_no_other_model(
    folder: Path, threads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: Path, *rest: Any) -> Any:
        if model.stem == "EXP":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return compile_file(model, *rest)

    monkeypatch.setattr(parcel, "compile_file", full)
    found = tflgpu.compile_many(
        [folder], tmp_path / "store", devices=["gpu"], scheduler=threads.scheduler_address
    )
    errors = {item.task.model.stem: str(item.error or "") for item in found}
    assert errors["EXP"].startswith(f"the worker on {gethostname()} cannot go on: ")
    assert errors["EXP"].endswith("No space left on device")
    assert errors["ABS"] == errors["COS"] == ""


def contents(paths: Sequence[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


def test_an_error_is_that_of_one_item_of_a_batch(threads: Any) -> None:
    with scheduled.scheduled(threads.scheduler_address) as found:

        def start(batch: Sequence[str]) -> tuple[Any, ...]:
            if "here" in batch:
                raise OSError("while it was started")
            return (found.cluster.submit(contents, batch),)

        batches = [["/no/such/file", os.devnull], [os.devnull, "here"], [__file__, __file__]]
        results = list(found.cluster.each(batches, start, 1))
    errors = {item: result for item, result in results if isinstance(result, Exception)}
    assert isinstance(errors.pop("/no/such/file"), FileNotFoundError)
    assert str(errors.pop("here")) == "while it was started" and not errors
    read = [pair for pair in results if isinstance(pair[1], bytes)]
    own = (__file__, Path(__file__).read_bytes())
    assert sorted(read) == sorted([*[(os.devnull, b"")] * 2, *[own] * 2])


def test_only_this_process_reaches_its_own_workers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with processes._cluster(1) as cluster:
            address = cluster._client.scheduler.address
            assert address.startswith("tls://127.0.0.1:")
            for security in (distributed.Security.temporary(), None):
                with pytest.raises((OSError, TypeError)):
                    Connection(address, security=security, timeout=1, set_as_default=False)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "inproc://127.0.0.1/1/1"])
def test_what_is_left_of_a_failed_connection_waits_for_no_lock(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector may run where Dask holds the one by which it starts loops."""
    monkeypatch.setattr(scheduled, "PATIENCE", 1)
    with pytest.raises(WorkerError), scheduled.scheduled(address):
        pass

    def collect() -> None:
        with distributed.utils.LoopRunner._lock:
            gc.collect()

    collecting = Thread(target=collect, daemon=True)
    collecting.start()
    collecting.join(10)
    assert not collecting.is_alive()


@pytest.mark.parametrize("scheduler", [True, False])
def test_no_loop_is_one_of_dask(
    folder: Path, threads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: bool
) -> None:
    """Which would have to start within ten seconds."""
    given = []
    begin = distributed.utils.LoopRunner.__init__

    def noted(runner: Any, loop: IOLoop | None = None, asynchronous: bool = False) -> None:
        given.append(loop)
        begin(runner, loop, asynchronous)

    monkeypatch.setattr(distributed.utils.LoopRunner, "__init__", noted)
    where = {"scheduler": threads.scheduler_address} if scheduler else {"jobs": 2}
    list(tflgpu.compile_many([folder], tmp_path / "store", devices=DEVICES, **where))
    assert given and all(given)


def test_a_loop_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(main: Any) -> None:
        main.close()
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(asyncio, "run", full)
    with (
        pytest.raises(WorkerError, match=r"event loop for Dask: .*Too many open files"),
        running_loop(),
    ):
        pass


def test_a_scheduler_that_is_lost(
    folder: Path, threads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is all that is said: Dask logs nothing of it."""
    handler = logging.StreamHandler()
    monkeypatch.setattr(logging.getLogger("distributed"), "handlers", [handler])
    run = tflgpu.compile_many(
        [folder], tmp_path / "store", devices=DEVICES, scheduler=threads.scheduler_address
    )
    next(run)
    assert handler.level == logging.CRITICAL
    threads.close()
    with pytest.raises(WorkerError, match=r"the scheduler at tcp://.* is gone; what was compiled"):
        list(run)
    assert (tmp_path / "store" / "manifest.json").exists()


def test_no_scheduler_and_no_workers(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: IOLoop
) -> None:
    monkeypatch.setattr(scheduled, "PATIENCE", 1)
    command = ("compile", folder, "-o", tmp_path / "store", "--scheduler")
    message = invoke(*command, "tcp://127.0.0.1:9", code=1).stderr
    assert "error: there is no scheduler at tcp://127.0.0.1:9 (" in message
    for address, reason in (
        ("nonsense", "missing port"),
        ("ucx://127.0.0.1:9", "tcp, tls"),
        ("tls://127.0.0.1:9", "certificates"),
    ):
        message = invoke(*command, address, code=1).stderr
        assert f"there is no scheduler at {address} (" in message and reason in message
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=":0", loop=loop
    ) as empty:
        message = invoke(*command, empty.scheduler_address, code=1).stderr
        assert "has no workers; start one with: dask worker inproc://" in message
    message = invoke(*command, "tcp://127.0.0.1:9", "--jobs", 2, code=1).stderr
    assert "a scheduler has workers of its own" in message


def is_worker(process: Any) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:  # it has just died
        return False


@pytest.mark.slow
def test_processes_that_are_killed(folder: Path, tmp_path: Path) -> None:
    """Each time while it compiles or starts; the rest of the work is as if nothing had happened."""
    precisions: tuple[Precision, ...] = ("f32", "f16")
    devices = (*DEVICES, "nvidia", "adreno", "amd")
    list(tflgpu.compile_many([folder], tmp_path / "here", devices=devices, precisions=precisions))
    run = tflgpu.compile_many(
        [folder], tmp_path / "there", devices=devices, precisions=precisions, jobs=2
    )
    failed, killed = 0, 0
    for result in run:
        failed += result.error is not None
        if killed < 4:
            workers = [*filter(is_worker, psutil.Process().children(recursive=True))]
            if workers:
                os.kill(workers[0].pid, signal.SIGKILL)
                killed += 1
    assert (failed, killed) == (10, 4)
    assert variants(tmp_path / "here") == variants(tmp_path / "there")


def test_processes_start_only_if_there_is_something_to_compile(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(tflgpu.compile_many([folder], tmp_path / "store", devices=DEVICES))
    monkeypatch.setattr(processes, "_cluster", lambda _: 1 / 0)
    again = tflgpu.compile_many([folder], tmp_path / "store", devices=DEVICES, jobs=2)
    assert {result.status for result in again} == {"present", "failed"}
    with pytest.raises(ZeroDivisionError):
        list(tflgpu.compile_many([folder], tmp_path / "other", devices=DEVICES, jobs=2))


def test_processes_keep_the_memory_that_they_have_used() -> None:
    with dask.config.set(processes.OWN_SETTINGS):
        environment = dask.config.get("distributed.nanny.pre-spawn-environ")
    assert not [name for name in environment if name.startswith("MALLOC")]


def test_neither_dask_nor_fsspec_are_imported_without_need() -> None:
    script = (
        "import sys, tflgpu, tflgpu.compiler.cli; tflgpu.compile, tflgpu.compile_many\n"
        "print(*sys.modules, sep='\\n')"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "tflgpu.compiler.fleet.api" in loaded
    assert not loaded & {"dask", "distributed", "fsspec", "tornado", "cryptography"}


def test_without_the_extra(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    command = ("compile", folder / "ABS.tflite", "-o", tmp_path / "store", "--device", "gpu")
    invoke(*command)
    message = invoke(*command, "--jobs", 2, code=1).stderr
    assert message.startswith("error: several jobs and schedulers need Dask, which cannot be")
    assert "pip install 'tflgpu[fleet]'" in message


def test_jobs_are_a_positive_number(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="jobs=0: give at least 1"):
        list(tflgpu.compile_many([folder], tmp_path, jobs=0))
