"""Loading drivers, each only when it is wanted."""

import ctypes
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from ctypes import byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any

from ..environment import starting_libraries
from .functions import functions_of, use_loader

_DEVICE_TYPE_ALL = 0xFFFFFFFF  # CL_DEVICE_TYPE_ALL.
_LAZY = 1  # RTLD_LAZY, with which loaders load drivers.
_LOCK = threading.RLock()  # Some drivers crash if two threads load them at once.


def devices(libraries: Iterable[str]) -> list[int]:
    """The driver's handle of each device, driver by driver. A driver is loaded when first asked."""
    with _LOCK, starting_libraries():
        platforms = [platform for library in libraries for platform in _platforms(library)]
        return [handle for platform in dict.fromkeys(platforms) for handle in _devices(platform)]


def devices_of_loader() -> list[int]:
    """The same of all drivers that the system's library loads (DeviceError if there is none)."""
    with _LOCK, starting_libraries():
        platforms = _loader_platforms()
        return [handle for platform in platforms for handle in _devices(platform)]


@cache
def _platforms(library: str) -> list[int]:
    """The platforms of a driver; none if it cannot be loaded."""
    c = ctypes.CDLL(None)
    # Unlike ctypes.CDLL, a call of this releases Python's lock.
    c.dlopen.argtypes, c.dlopen.restype = (c_char_p, c_int), c_void_p
    loaded = c.dlopen(os.fsencode(library), _LAZY)
    if not loaded:
        return []
    with suppress(AttributeError):
        # These keep Python's lock, which another thread may not give back for 5 ms.
        find = ctypes.PyDLL(library, handle=loaded).clGetExtensionFunctionAddress
        find.argtypes, find.restype = (c_char_p,), c_void_p
        address = find(b"clIcdGetPlatformIDsKHR")
        return _list(ctypes.PYFUNCTYPE(c_int)(address)) if address else []
    return []


@cache
def _loader_platforms() -> list[int]:
    # How the loader says that no driver is installed is an error, too.
    return _list(use_loader().clGetPlatformIDs)


def _devices(platform: int) -> list[int]:
    """None for a driver whose hardware is absent, which fails with DEVICE_NOT_FOUND."""
    get = functions_of(platform)["clGetDeviceIDs"]
    return _list(lambda *rest: get(platform, _DEVICE_TYPE_ALL, *rest))


def _list(get: Any) -> list[int]:
    """What a function lists that takes the size of an array, the array and the actual size."""
    count = c_uint()
    if get(0, None, byref(count)):
        return []
    found = (c_void_p * count.value)()
    get(count.value, found, None)
    return [handle for handle in found if handle]
