"""Tuning on a cluster: each device measures where it is, and tables are merged by device."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Future, WorkerPlugin
from filelock import FileLock
from platformdirs import user_cache_path

from ...runtime.cache.binaries import device_key
from ...runtime.cache.private_files import make_private
from ...runtime.launch.device import DeviceInfo
from ..devices.attached import devices_here
from ..errors import ModelError, OptionError, WorkerError
from ..keep_f32 import TOLERANCE, settle
from ..options import Options
from ..sizing.tuning_table import Table, read_table, write_table
from ..tools.tune import tune
from .parcel import Parcel, pack, unpacked
from .scheduled import Scheduled
from .tasks import Task, matrix

TABLE = "table.json"


def resource(info: DeviceInfo) -> str:
    return f"tflgpu-{device_key(info)}"


class Announce(WorkerPlugin):  # type: ignore[misc]  # Dask is not typed
    """Announces the devices of each worker, those that join later as well."""

    name = "tflgpu-devices"

    async def setup(self, worker: Any) -> None:
        await worker.set_resources(**dict.fromkeys(map(resource, devices_here()), 1))


def measure(parcel: Parcel, model: bytes, table: bytes) -> tuple[Table]:
    """Tune a model on the device that the parcel's options name, on a worker that has it.

    `table` is the content of a table with what need not be measured; the result, that of a batch of
    one, has that as well.
    Raises what `settle` and `tune` raise.
    """
    with unpacked(parcel, model) as (path, options), FileLock(_lock(options.device), mode=0o600):
        own = path.with_name(TABLE)
        own.write_bytes(table)
        tune(path, settle(path, options, parcel.tolerance), own)
        return (read_table(own),)


def _lock(device: str) -> Path:
    """The lock of a device of this machine, or of all devices with the same name."""
    found = next(info for info in devices_here() if str(info) == device)
    folder = user_cache_path("tflgpu") / "locks"
    make_private(folder)
    return folder / f"{resource(found)}.lock"


@dataclass(frozen=True)
class Tuned:
    model: Path
    device: DeviceInfo
    table: Path  # The table of the device, which now has what was found.
    kernels: int
    error: Exception | None = None


@dataclass(frozen=True)
class _Part:
    """A model to measure on a device; its options name the device."""

    task: Task
    device: DeviceInfo


def tune_many(
    models: Sequence[Path],
    options: Sequence[Options],
    folder: Path,
    workers: Scheduled,
    tolerance: float = TOLERANCE,
) -> Iterator[Tuned]:
    """Tune models on the workers' devices that options name, and yield results as they come.

    "auto" names all of them. Each measures one kernel at a time. The tables lie in `folder`, as
    `<device key>.json`, and are written after each model: what they have is not measured again, and
    what a lost worker was measuring is. A model that fails stops no other. `tolerance` is for
    options with keep_f32=("auto",), as in `tflgpu.compile`.

    WorkerError if no worker has such a device, or workers are gone; OptionError if a table cannot
    be read or written.
    """
    workers.cluster.announce(Announce())
    parts = [
        part
        for each in options
        for device in _devices(workers, each)
        for part in _parts(models, each, device, tolerance)
    ]
    for device in {part.device for part in parts}:
        # Fail now if a table cannot be written, before anything is measured.
        write_table(_table(folder, device), _path(folder, device))

    def start(batch: Sequence[_Part]) -> tuple[Future, ...]:
        (part,) = batch
        if part.task.unreadable:
            raise ModelError(part.task.unreadable)
        table, model = _path(folder, part.device).read_bytes(), workers.model(part.task)
        needs = {resource(part.device): 1}
        parcel = pack(part.task)
        return workers.cluster.submit(measure, parcel, model, table, resources=needs), model

    alone = ([part] for part in parts)
    for part, outcome in workers.cluster.each(alone, start, per_worker=1):
        path, table = _path(folder, part.device), _table(folder, part.device)
        if isinstance(outcome, Table):
            # What was measured first stays, whichever other search was slower to find it.
            table.kernels = {**outcome.kernels, **table.kernels}
            write_table(table, path)
        error = outcome if isinstance(outcome, Exception) else None
        yield Tuned(part.task.model, part.device, path, len(table.kernels), error)


def _devices(workers: Scheduled, options: Options) -> list[DeviceInfo]:
    """The workers' devices that options name, or all for "auto", sorted (WorkerError)."""
    found: dict[DeviceInfo, None] = {}
    for address, devices in workers.cluster.ask_each(devices_here):
        if isinstance(devices, Exception):
            raise WorkerError(f"worker {address}: {devices}") from devices
        found.update(dict.fromkeys(devices))
    name = "" if options.device == "auto" else options.device.lower()
    chosen = [info for info in found if name in str(info).lower() and info.target == options.target]
    if not chosen:
        present = "".join(f"\n  {info}, for {info.target}" for info in found)
        raise WorkerError(
            f"no worker has a device {options.device!r} for {options.target}; they have:"
            f"{present or ' none'}"
        )
    return sorted(chosen, key=str)


def _parts(
    models: Sequence[Path], options: Options, device: DeviceInfo, tolerance: float
) -> Iterator[_Part]:
    if options.tuning:
        raise OptionError(
            f"tuning={options.tuning!r}: tables of several devices lie in a folder, by device"
        )
    named = replace(options, device=str(device))
    # The device is not attached here, so any profile serves to read the models.
    for task in matrix(models, [replace(options, device="gpu")], tolerance):
        yield _Part(replace(task, options=named), device)


def _path(folder: Path, device: DeviceInfo) -> Path:
    return folder / f"{device_key(device)}.json"


def _table(folder: Path, device: DeviceInfo) -> Table:
    path = _path(folder, device)
    return read_table(path) if path.exists() else Table(str(device))
