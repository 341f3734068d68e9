"""Doing what takes time while other threads go on, first of all starting drivers.

Drivers load their compilers when they are first asked for anything. That takes about as long as
importing numpy, and what is called through ctypes does not keep Python waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

TARGETS = ("opencl", "glsl")
"""The languages whose drivers can be started."""
_STARTING = threading.Lock()


def in_background(work: Callable[[], None], name: str) -> Callable[[], None]:
    """Let another thread do some work, and return what waits until it is done.

    Where the system gives no thread it is done at once.
    """
    thread = threading.Thread(target=work, name=f"tflgpu {name}", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        work()
        return lambda: None
    return thread.join


def start_drivers(target: str) -> Callable[[], None]:
    """Let every driver of a target start, and return what waits until they have.

    What goes wrong is found out, and reported, when devices are asked for.
    """
    # Not every loader can be asked by two threads at first.
    with _STARTING:
        return _start(target)


@cache
def _start(target: str) -> Callable[[], None]:
    if target == "opencl":
        from .opencl_info import ask_drivers
    else:
        from .egl import ask_drivers
    return in_background(ask_drivers, "drivers")
