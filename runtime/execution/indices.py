"""Checks of the indices that kernels read, for `Session.run(check=True)`."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..launch.commands import Buffers
from ..launch.device import Command, Device
from ..plan.records import IndexCheck, Plan
from ..plan.storage import WORD


class CheckedQueue:
    """Enqueues the commands of a run, one for each dispatch, and checks their indices on the way.

    Kernels use any index that they read after clamping it, so the indices are read back before the
    dispatch that uses them: they are complete then, and nothing has been written over them yet.
    """

    def __init__(self, plan: Plan, device: Device, buffers: Buffers) -> None:
        self._checks = plan.index_checks
        self._device, self._buffers = device, buffers
        self._started = 0  # Dispatches enqueued so far.

    def enqueue(self, commands: Sequence[Command]) -> None:
        """Start commands, as `Device.enqueue`. InputError names an index out of bounds."""
        first, last = self._started, self._started + len(commands)
        for check in self._checks:
            if first <= check.dispatch < last:
                ready = commands[self._started - first : check.dispatch - first]
                self._device.enqueue(ready)
                self._started = check.dispatch
                self._check(check)
        self._device.enqueue(commands[self._started - first :])
        self._started = last

    def _check(self, check: IndexCheck) -> None:
        if not prod(check.shape):
            return
        # One axis more than the indices of a scalar have, for the limits to lie along.
        indices = np.atleast_1d(self._read(check))
        limits = np.broadcast_to(np.array(check.limits, np.int64), indices.shape)
        wrong = np.argwhere((indices < 0) | (indices >= limits))
        if len(wrong):
            place = tuple(wrong[0].tolist())
            raise InputError(
                f"operator {check.operator}: the index {indices[place]} at "
                f"{list(place[: len(check.shape)])} of {check.tensor} is out of bounds; it must be "
                f"at least 0 and less than {limits[place]}"
            )

    def _read(self, check: IndexCheck) -> NDArray[Any]:
        """The indices that a dispatch is about to read."""
        length, pitch = check.length // WORD, check.pitch // WORD
        starts = pitch * np.arange(prod(check.shape) // length)
        content = np.empty(starts[-1] + length, np.int32)
        buffer = self._buffers[check.place.region, check.place.index]
        self._device.download(buffer, content, check.place.offset)
        self._device.finish()
        indices: NDArray[Any] = content[starts[:, None] + np.arange(length)]
        return indices.reshape(check.shape)
