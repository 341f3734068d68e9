"""Trying a driver: a process of its own loads it, and tells how far it came."""

import tempfile
from typing import Any

from ..launch import attempt
from .drivers import Driver
from .trials import DeviceTrial, DriverTrial

MODULE = "tflgpu.runtime.opencl.probe"
NARROWER = (8, 4)  # Lanes to try where a device cannot handle those it prefers.
# Variables that name the folders from which drivers would answer without compiling.
CACHES = ("POCL_CACHE_DIR", "CUDA_CACHE_PATH")


def try_driver(trial: DriverTrial) -> list[tuple[Any, DeviceTrial]]:
    """Fill in what becomes of a driver: each kind of device, down to vectors it can handle.

    Returns the devices with keys that are greater for better ones.
    """
    found = []
    first = Attempt(trial.driver, 0, 0)
    trial.devices = []
    trial.overdue = first.overdue
    trial.failure = first.failure if first.devices is None else ""
    for index, (name, version, preferred, key) in enumerate(first.devices or ()):
        if any(device.is_(name, version) for device in trial.devices):
            continue
        device = DeviceTrial(name, version, index)
        tried = Attempt(trial.driver, 0, index) if index else first
        device.lanes[preferred] = tried.failure
        device.instructions = tried.instructions
        trial.overdue |= tried.overdue
        for lanes in NARROWER:
            if lanes < preferred and not device.widest():
                narrower = Attempt(trial.driver, lanes, index)
                device.lanes[lanes] = narrower.failure
                trial.overdue |= narrower.overdue
        trial.devices.append(device)
        found.append((key, device))
    return found


class Attempt(attempt.Attempt):
    """What a process with one driver said about its devices, and about one of them.

    A device is its name, the version of its driver, its preferred lanes and the key.
    """

    def __init__(self, driver: Driver, lanes: int, index: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            caches = dict.fromkeys(CACHES, folder)
            super().__init__(MODULE, (driver.library, lanes, index), caches)
