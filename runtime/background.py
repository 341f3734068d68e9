"""Work that another thread does while this one goes on, first of all starting drivers.

Drivers load their compilers when they are first asked for anything. That takes about as long as
importing numpy, and calls through ctypes release Python's lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


def in_background(work: Callable[[], None], name: str) -> Callable[[], None]:
    """Start `work` on another thread; returns a function that waits until it is done.

    Where the system gives no thread the work is done at once.
    """
    thread = threading.Thread(target=work, name=f"tflgpu {name}", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        work()
        return lambda: None
    return thread.join


class Startup:
    """Work that is done once in a process, on another thread."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._lock = threading.Lock()
        self._join: Callable[[], None] | None = None

    def start(self) -> Callable[[], None]:
        """Start the work unless it was started before; returns a function that waits for it."""
        # Not every driver's loader survives being entered by two threads at once.
        with self._lock:
            if self._join is None:
                self._join = in_background(self._work, self._name)
            return self._join

    def wait(self) -> None:
        """Return once the work is done, starting it if nobody has."""
        self.start()()
