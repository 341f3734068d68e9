"""Starting the OpenCL drivers while other threads go on.

Drivers load their compilers when they are first asked for anything, and a question of pyopencl's
keeps all of Python waiting for the answer. One that is asked through ctypes does not.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache


@cache
def start_drivers() -> threading.Thread:
    """The thread that ends once every driver has started; there is work to do meanwhile.

    It asks how many platforms there are. What goes wrong is found out, and reported, when pyopencl
    asks again.
    """
    import pyopencl

    # Symbols of the loader are looked up through the library that is linked to it.
    ask = getattr(ctypes.CDLL(pyopencl._cl.__file__), "clGetPlatformIDs", None)
    arguments = (0, None, ctypes.byref(ctypes.c_uint()))
    thread = threading.Thread(target=ask, args=arguments, name="tflgpu drivers", daemon=True)
    thread.start()
    return thread
