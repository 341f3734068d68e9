"""The device of a session: whose turn it is, and what to free before it."""

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from ..errors import DeviceError
from ..launch.commands import Buffers
from ..launch.device import Device
from ..plan.records import Plan
from ..startup import DRIVER_PROCESS


class SessionDevice:
    """A device that a session owns, for use by one thread at a time.

    It must be used inside a `with` block, for which other threads wait. Entering one raises
    DeviceError if the session is closed, belongs to the process that this one was forked from, or
    is in use by this thread already, which would wait for itself.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        # Those that are to be released before the device.
        self.slots: weakref.WeakSet[Any] = weakref.WeakSet()
        # What frees slots that nobody closed, each with what its run in flight uses until then.
        self.dropped: list[tuple[Callable[[], None], Any]] = []
        # What frees what was loaded after the first plan, likewise.
        self.loaded: list[tuple[Callable[[], None], Any]] = []
        # What the last run was of, and its buffers; None before the first.
        self.used: tuple[Plan, Buffers] | None = None
        self._lock = threading.RLock()
        self._holder: FrameType | None = None  # What the block inside is part of.
        self._closed = False
        weakref.finalize(self, _free, device, self.dropped).atexit = False
        weakref.finalize(self, _free, device, self.loaded).atexit = False

    def __enter__(self) -> Device:
        # Another thread of the process that was forked may have held the lock.
        self.check_process()
        self._acquire(sys._getframe(2))  # An execution enters it for the one that has the block.
        if self._closed:
            self.__exit__()
            raise DeviceError("the session is closed; load the model again")
        if self.dropped:
            _free(self.device, self.dropped)
        return self.device

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()

    def _acquire(self, holder: FrameType) -> None:
        if self._holder is not None:
            if _is_running(self._holder):
                raise DeviceError(
                    "the session runs on this thread already: what it calls, such as a function "
                    "in custom_ops, can neither use nor close it"
                )
            self._give_back()
        try:
            self._lock.acquire()
            self._holder = holder
        except BaseException:
            self._give_back()
            raise

    def _give_back(self) -> None:
        """Release the lock if Ctrl-C came just before the block on this thread, or behind it."""
        with suppress(RuntimeError):  # It is not this thread's.
            self._lock.release()

    @property
    def closed(self) -> bool:
        return self._closed

    def check_process(self) -> None:
        """DeviceError if it belongs to a process that this one was forked from."""
        DRIVER_PROCESS.check("this session was loaded")

    def close(self) -> None:
        """Release the device. Closing again, or in a forked process, does nothing."""
        if DRIVER_PROCESS.lost:
            return
        self._acquire(sys._getframe())
        try:
            if not self._closed:
                self._closed = True
                for slot in list(self.slots):
                    slot.release()
                _free(self.device, self.dropped)
                _free(self.device, self.loaded)
                self.device.release()
        finally:
            self.__exit__()


def _is_running(frame: FrameType) -> bool:
    """Whether this thread is inside a frame."""
    inner: FrameType | None = sys._getframe()
    while inner is not None and inner is not frame:
        inner = inner.f_back
    return inner is not None


def _free(device: Device, dropped: list[tuple[Callable[[], None], Any]]) -> None:
    """Free memory, once the runs that use it are done."""
    if dropped and not DRIVER_PROCESS.lost:
        with suppress(DeviceError):
            device.finish()
        while dropped:
            dropped.pop()[0]()
