"""The devices of a worker.

A worker announces each attached device as a resource of Dask, of which a measurement takes all
there is; a lock file does the same for several workers that a user has on one machine.
"""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from ... import runtime
from ...runtime.cache.binaries import device_key
from ...runtime.errors import DeviceError
from ...runtime.launch.device import DeviceInfo


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
