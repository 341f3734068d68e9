"""Starting the OpenCL drivers while other threads go on.

Drivers load their compilers when they are first asked for anything. That takes as long as importing
numpy, and what is called through ctypes does not keep Python waiting.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache

from .opencl_library import library


@cache
def start_drivers() -> threading.Thread:
    """The thread that ends once every driver has started; there is work to do meanwhile.

    It asks how many platforms there are. What goes wrong is found out, and reported, when they are
    asked for. DeviceError if OpenCL is not installed.
    """
    arguments = (0, None, ctypes.byref(ctypes.c_uint()))
    thread = threading.Thread(
        target=library().clGetPlatformIDs, args=arguments, name="tflgpu drivers", daemon=True
    )
    thread.start()
    return thread
