"""Starting the drivers: once per process, on another thread, and never after a fork.

A driver loads its compiler at the first call, which takes about as long as importing numpy. Calls
through ctypes release Python's lock, so both can happen at once.
"""

import os
import threading
from collections.abc import Callable

from .errors import DeviceError


class DriverProcess:
    """The process that has started the drivers, which do not survive a fork.

    It copies only the thread that calls it. The driver's threads, for which calls wait, do not
    exist in the new process, and locks that they held stay locked.
    """

    def __init__(self) -> None:
        self._started_in: int | None = None
        self.lost = False  # Whether they were started in a process that this one was forked from.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.lost = self._started_in is not None

    def start(self) -> None:
        """Note that this process starts the drivers (DeviceError if it cannot)."""
        self.check("the drivers were started")
        self._started_in = os.getpid()

    def check(self, what: str) -> None:
        """DeviceError if the drivers are lost. `what` says what was done in the other process."""
        if self.lost:
            raise DeviceError(
                f"{what} in process {self._started_in}, from which this process ({os.getpid()}) "
                "was forked, and drivers do not survive a fork: use the spawn start method, as in "
                'multiprocessing.get_context("spawn"), and load the model in the new process'
            )


DRIVER_PROCESS = DriverProcess()


def in_background(work: Callable[[], None], name: str) -> Callable[[], None]:
    """Start `work` on another thread; returns a function that waits for it to finish.

    If no thread can be started, the work is done before this returns. A process that ends waits,
    too: a driver crashes if its global objects are destroyed while a thread starts it.
    """
    thread = threading.Thread(target=work, name=f"tflgpu {name}")
    try:
        thread.start()
    except RuntimeError:
        work()
        return lambda: None
    return thread.join
