"""Measuring on a device of a worker, one measurement at a time."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from ...runtime.cache.private_files import make_private
from ..keep_f32 import settle
from ..sizing.tuning_table import Table, read_table
from ..tools.tune import tune
from .announce import devices_here, resource
from .parcel import Parcel, unpacked

TABLE = "table.json"


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
