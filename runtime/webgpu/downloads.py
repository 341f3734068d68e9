"""Copies from the device to the host, which the host waits for.

WebGPU maps memory for the host once everything that was submitted before is done with it, so that
waiting for a copy is how to wait for anything.
"""

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..plan.storage import whole_words
from .library import driver_call

_ALIGNMENT = 16  # Bytes; where an array starts in the buffer that is mapped.


class Copy(NamedTuple):
    source: Any
    offset: int
    array: Any  # Contiguous; filled by `Download.finish`.


class Download:
    """Copies that begin when this is made, through one buffer that the host maps."""

    def __init__(self, device: Any, copies: Sequence[Copy], before: Sequence[Any] = ()) -> None:
        """`before` is submitted with the copies, as drivers may wait between submissions."""
        sizes = [-(-copy.array.nbytes // _ALIGNMENT) * _ALIGNMENT for copy in copies]
        *places, size = accumulate(sizes, initial=0)
        self._placed = [*zip(copies, places, strict=True)]
        self._staging = device.create_buffer(size=size, usage="MAP_READ | COPY_DST")
        encoder = device.create_command_encoder()
        for copy, place in self._placed:
            whole = whole_words(copy.array.nbytes)
            encoder.copy_buffer_to_buffer(copy.source, copy.offset, self._staging, place, whole)
        device.queue.submit([*before, encoder.finish()])
        # Without NOSYNC, wgpu submits once more, and on lavapipe that waits for all before it.
        self.mapping = self._staging.map_async("READ_NOSYNC")

    def finish(self) -> None:
        """Wait for the copies. After an error or Ctrl-C, to be called again."""
        self.mapping.sync_wait()
        content = np.frombuffer(self._staging.read_mapped(copy=False), np.uint8)
        for copy, place in self._placed:
            target = copy.array.reshape(-1).view(np.uint8)
            target[:] = content[place : place + target.size]
        del content  # it would keep the memory mapped

    def release(self) -> None:
        self._staging.destroy()


class Downloads:
    """Copies after which everything that was submitted is done. Implements `launch.device.Marker`.

    Waiting for them again, on whichever thread, does nothing.
    """

    any_thread = True

    def __init__(self, name: str, copies: Sequence[Download]) -> None:
        """There must be at least one, of which the last one begins last."""
        self._name, self._copies = name, list(copies)
        self._lock = threading.Lock()
        self.event = copies[-1].mapping  # The promise of wgpu that is kept when they are done.

    @property
    def done(self) -> bool:
        # Promises of wgpu tell it to coroutines only.
        if self.event._state == "pending":
            return False
        with driver_call(self._name, "running the kernels"):
            self.event.sync_wait()
        return True

    def wait(self) -> None:
        with self._lock, driver_call(self._name, "running the kernels"):
            while self._copies:
                # Whoever waits again after an error must not take it for done.
                self._copies[0].finish()
                self._copies.pop(0).release()
