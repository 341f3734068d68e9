"""Opening the device and taking up its compiled kernels while the plan is still being read.

A driver spends most of a warm start in calls that let other threads run, and reading the plan
begins with imports, which keep one thread busy; so the two go side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .binaries import BINARIES, read_for_device, split
from .errors import TflgpuError

if TYPE_CHECKING:
    from .opencl import OpenCLDevice


class Ahead(threading.Thread):
    """Opens an OpenCL device, and begins to restore the kernels of a variant, as `start` says.

    Only a guess at what will be needed: what goes wrong here is found out again, and reported,
    when it is needed.
    """

    def __init__(self, device: str, folder: Path) -> None:
        super().__init__(name="tflgpu start", daemon=True)
        self._name_wanted, self._folder = device, folder
        self._device: OpenCLDevice | None = None

    def run(self) -> None:
        with suppress(TflgpuError):
            from .opencl import open_device

            self._device = open_device(self._name_wanted)
            content = read_for_device(self._folder, self._device.info)
            parts = None if content is None else split(content)
            if parts is not None:
                self._device.restore_ahead(parts[1])

    def take(self) -> OpenCLDevice | None:
        """The device, which belongs to the caller from here on; None if it could not be opened."""
        self.join()
        device, self._device = self._device, None
        return device

    def drop(self) -> None:
        """Release the device unless it has been taken."""
        device = self.take()
        if device is not None:
            device.release()


def start(device: str, folders: Sequence[Path]) -> Ahead | None:
    """Go ahead if one of the variants, the newest first, has kernels compiled for some device."""
    for folder in folders:
        if (folder / BINARIES).is_dir():
            ahead = Ahead(device, folder)
            ahead.start()
            return ahead
    return None
