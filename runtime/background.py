"""Work on another thread while this one goes on, such as starting the drivers.

A driver loads its compiler at the first call, which takes about as long as importing numpy. Calls
through ctypes release Python's lock, so both can happen at once.
"""

import threading
from collections.abc import Callable

from .forks import DRIVER_PROCESS


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


class Startup:
    """Starting drivers, which is done once per process, on another thread."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._lock = threading.Lock()
        self._join: Callable[[], None] | None = None

    def start(self) -> Callable[[], None]:
        """Start the work unless it has been started; returns a function that waits for it.

        DeviceError in a process forked from one that has started drivers.
        """
        DRIVER_PROCESS.start()
        # Some driver loaders crash if two threads enter them at once.
        with self._lock:
            if self._join is None:
                self._join = in_background(self._work, self._name)
            return self._join

    def wait(self) -> None:
        """Wait for the work to finish, starting it first if need be (DeviceError)."""
        self.start()()
