"""Tuning on the workers that have the devices."""

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import distributed
import pytest
from cases.convolutions import conv
from commands import as_json, invoke
from deadly_measurements import DeadlyMeasurements
from graphs import model, x
from tornado.ioloop import IOLoop

import tflgpu
from tflgpu.compiler.sizing.sizes import Sizes
from tflgpu.compiler.tools import tune as search


class Measured:
    """Measurements with a known result: groups of 4 work-items are the fastest."""

    def __init__(self) -> None:
        self.count = 0
        self._busy = threading.Lock()

    def __call__(self, subject: object, sizes: Sequence[Sizes]) -> list[float]:
        assert self._busy.acquire(blocking=False), "two measurements at a time"
        self.count += 1
        time.sleep(0.01)
        self._busy.release()
        return [1.0 + number for number in reversed(range(len(sizes)))]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    made = Measured()
    monkeypatch.setattr(search, "_measure", made)
    return made


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """Models that share a kernel, and one that is damaged."""
    folder = tmp_path / "models"
    folder.mkdir()
    shared = conv(x(1, 13, 11, 7), (37, 7), (1, 1))
    (folder / "one.tflite").write_bytes(model({"y": shared}).content)
    both = {"y": shared, "z": conv(x(1, 5, 3, 2), (3, 2), (1, 1))}
    (folder / "two.tflite").write_bytes(model(both).content)
    return folder


@pytest.fixture
def scheduler(threads: Any) -> str:
    """The address of a scheduler with two workers, which have the devices of this machine."""
    return str(threads.scheduler_address)


def test_the_table_is_that_of_this_process(
    networks: Path, measured: Measured, scheduler: str, opencl_device: str, tmp_path: Path
) -> None:
    common: tuple[Any, ...] = ("--device", opencl_device)
    (here,) = as_json("tune", networks, "-o", tmp_path / "here", *common)["tables"]
    common = (*common, "--scheduler", scheduler)
    (there,) = as_json("tune", networks, "-o", tmp_path / "there", *common)["tables"]
    assert Path(here["path"]).read_bytes() == Path(there["path"]).read_bytes()
    assert here["kernels"] == there["kernels"] > 1
    measured.count = 0
    assert as_json("tune", networks, "-o", tmp_path / "there", *common)["tables"] == [there]
    assert measured.count == 0


@pytest.mark.slow
def test_what_a_killed_worker_was_measuring_is_measured_again(
    networks: Path, measured: Measured, opencl_device: str, tmp_path: Path, loop: IOLoop
) -> None:
    (tmp_path / "made").mkdir()
    common: tuple[Any, ...] = ("--device", opencl_device)
    (here,) = as_json("tune", networks, "-o", tmp_path / "here", *common)["tables"]
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, protocol="tcp", dashboard_address=":0", loop=loop
    )
    with local, distributed.Client(local, set_as_default=False) as client:
        client.register_plugin(DeadlyMeasurements(tmp_path / "made"))
        common = (*common, "--scheduler", local.scheduler_address)
        (there,) = as_json("tune", networks, "-o", tmp_path / "there", *common)["tables"]
    assert Path(here["path"]).read_bytes() == Path(there["path"]).read_bytes()
    assert len(list((tmp_path / "made").iterdir())) > measured.count


def test_the_same_table_gives_the_same_plan(
    networks: Path, measured: Measured, scheduler: str, opencl_device: str, tmp_path: Path
) -> None:
    common = ("--device", opencl_device, "--scheduler", scheduler)
    (table,) = as_json("tune", networks, "-o", tmp_path / "c", *common)["tables"]
    tuned = ("compile", networks, "--device", opencl_device, "--tuning", table["path"])
    rows = as_json(*tuned, "-o", tmp_path / "one")["variants"]
    others = as_json(*tuned, "-o", tmp_path / "other", "--scheduler", scheduler)["variants"]
    assert [row["variant"] for row in rows] == [row["variant"] for row in others]
    assert all(row["tuned"] for row in rows)


def test_a_model_that_fails_stops_no_other(
    networks: Path, measured: Measured, scheduler: str, opencl_device: str, tmp_path: Path
) -> None:
    (networks / "a.tflite").write_text("this is not a model")
    command = ("tune", networks, "-o", tmp_path / "cache", "--device", opencl_device)
    for where in ((), ("--scheduler", scheduler)):
        result = invoke(*command, *where, code=1)
        assert "error: 1 searches failed:\n" in result.stderr
        assert "a.tflite: not a .tflite model" in result.stderr
        (table,) = (tmp_path / "cache" / "tuning").glob("*.json")
        assert len(json.loads(table.read_text())["kernels"]) > 1
        table.unlink()


def test_why_a_model_cannot_be_tuned(
    networks: Path, measured: Measured, opencl_device: str, tmp_path: Path
) -> None:
    gone, common = tmp_path / "gone.tflite", ("-o", tmp_path / "c", "--device", opencl_device)
    for command in (("tune", gone), ("compile", gone, "--tune")):
        message = invoke(*command, *common, code=1).stderr
        assert message.startswith(f"error: cannot read the model {gone}: No such file"), message
    result = invoke("compile", gone, networks, *common, "--tune", "--json", code=1)
    found = json.loads(result.stdout)["variants"]
    assert [row["status"] for row in found] == ["failed", "compiled", "compiled"]
    assert all(row["tuned"] for row in found[1:])


def test_operators_to_keep_are_searched_on_the_worker(
    networks: Path, measured: Measured, scheduler: str, opencl_device: str, tmp_path: Path
) -> None:
    common: tuple[Any, ...] = ("--device", opencl_device, "--precision", "f32_f16")
    common = (*common, "--keep-f32", "auto")
    (here,) = as_json("tune", networks, "-o", tmp_path / "here", *common)["tables"]
    common = (*common, "--tolerance", 0.5, "--scheduler", scheduler)
    (there,) = as_json("tune", networks, "-o", tmp_path / "there", *common)["tables"]
    assert Path(here["path"]).read_bytes() == Path(there["path"]).read_bytes()


def test_two_equal_devices_have_a_lock_in_a_folder_of_the_user(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tflgpu.compiler.fleet import tuning

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    info = next(info for info in tflgpu.runtime.devices() if opencl_device in str(info))
    monkeypatch.setattr(tuning, "devices_here", lambda: [info, info])
    lock = tuning._lock(str(info))
    assert lock.parent.is_relative_to(tmp_path) and lock.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "tflgpu" / "locks").chmod(0o770)
    with pytest.raises(tflgpu.PlanError, match="can be written to by other users"):
        tuning._lock(str(info))


def test_a_device_that_no_worker_has(networks: Path, scheduler: str, tmp_path: Path) -> None:
    command: tuple[Any, ...] = ("tune", networks, "-o", tmp_path, "--scheduler", scheduler)
    message = invoke(*command, "--device", "abacus", code=1).stderr
    assert message.startswith("error: no worker has a device 'abacus' for opencl; they have:")
    message = invoke(*command, "--tuning", tmp_path / "table.json", code=1).stderr
    assert "tables of several devices lie in a folder" in message
