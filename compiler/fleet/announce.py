"""The devices of a worker, and measuring on one of them, one measurement at a time.

A worker announces each attached device as a resource of Dask, of which a measurement takes all
there is; a lock file does the same for several workers that a user has on one machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distributed import WorkerPlugin
from filelock import FileLock
from platformdirs import user_cache_path

from ... import runtime
from ...runtime.cache.binaries import device_key
from ...runtime.cache.private_files import make_private
from ...runtime.errors import DeviceError
from ...runtime.launch.device import DeviceInfo
from ..keep_f32 import settle
from ..sizing.tuning_table import Table, read_table
from ..tools.tune import tune
from .parcel import Parcel, unpacked

TABLE = "table.json"


def resource(info: DeviceInfo) -> str:
    """The name of a device as a resource."""
    return f"tflgpu-{device_key(info)}"


def devices_here() -> list[DeviceInfo]:
    """The attached devices; none if there are none."""
    try:
        return list(runtime.devices())
    except DeviceError:
        return []


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
