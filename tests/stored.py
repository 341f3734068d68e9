"""What tests of the cache look at: the files, and the device alone."""

from pathlib import Path
from typing import Any

from devices import Attached

from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.drivers import open_device

# Of a variant with the plan `chain`.
FILES = [
    "plan.tflgpu",
    "weights.bin",
    "kernels/000_add.cl",
    "kernels/001_scale.cl",
    "kernels/002_subtract.cl",
]


def open_attached(attached: Attached) -> Any:
    """The device alone, without a session."""
    return open_device(attached.device, [attached.target])


def stored(folder: Path) -> list[Path]:
    return sorted((folder / BINARIES).glob("*"))
