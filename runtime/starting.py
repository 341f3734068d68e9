"""Starting the drivers of a target while other threads go on.

Drivers load their compilers when they are first asked for anything. That takes about as long as
importing numpy, and what is called through ctypes does not keep Python waiting.
"""

from __future__ import annotations

import threading
from functools import cache

TARGETS = ("opencl", "glsl")
"""The languages whose drivers can be started."""


@cache
def start_drivers(target: str) -> threading.Thread:
    """The thread that ends once every driver of a target has started.

    What goes wrong is found out, and reported, when devices are asked for.
    """
    if target == "opencl":
        from .opencl_library import ask_drivers
    else:
        from .egl import ask_drivers
    thread = threading.Thread(target=ask_drivers, name="tflgpu drivers", daemon=True)
    thread.start()
    return thread
