"""The functions of OpenCL through ctypes, from the driver that made an object.

Whatever a driver makes begins with the address of a table of its functions. The loader of OpenCL,
libOpenCL, passes calls on through these tables, but loads every driver that is installed, each with
a compiler of its own, where one is wanted. So it is used only where drivers are registered nowhere.
https://github.com/KhronosGroup/OpenCL-Headers/blob/main/CL/cl_icd.h
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ..errors import DeviceError
from .drivers import for_processors

_HANDLES, _SIZES, _TEXTS = POINTER(c_void_p), POINTER(c_size_t), POINTER(c_char_p)
_EVENTS = (c_uint, c_void_p, _HANDLES)  # Events to wait for, and the one to create.
_STATUS = POINTER(c_int)
_QUERY = (c_void_p, c_uint, c_size_t, c_void_p, _SIZES)
_COPY = (c_void_p, c_void_p, c_uint, c_size_t, c_size_t, c_void_p)
_FILL = (c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t)
_LAUNCH = (c_void_p, c_void_p, c_uint, _SIZES, _SIZES, _SIZES)
_BINARY = (c_void_p, c_uint, _HANDLES, _SIZES, _TEXTS, _STATUS)

# Where the functions of OpenCL 1.0 to 2.0 that are called stand in a table, and their results and
# parameters, without those of functions that are only called untyped.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "clGetPlatformInfo": (1, c_int, *_QUERY),
    "clGetDeviceIDs": (2, c_int, c_void_p, c_uint64, c_uint, _HANDLES, POINTER(c_uint)),
    "clGetDeviceInfo": (3, c_int, *_QUERY),
    "clCreateContext": (4, c_void_p, c_void_p, c_uint, _HANDLES, c_void_p, c_void_p, _STATUS),
    "clRetainContext": (6, c_int, c_void_p),
    "clReleaseContext": (7, c_int, c_void_p),
    "clGetContextInfo": (8, c_int, *_QUERY),
    "clCreateCommandQueue": (9, c_void_p, c_void_p, c_void_p, c_uint64, _STATUS),
    "clRetainCommandQueue": (10, c_int, c_void_p),
    "clReleaseCommandQueue": (11, c_int, c_void_p),
    "clGetCommandQueueInfo": (12, c_int, *_QUERY),
    "clCreateBuffer": (14, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, _STATUS),
    "clRetainMemObject": (17, c_int, c_void_p),
    "clReleaseMemObject": (18, c_int, c_void_p),
    "clGetMemObjectInfo": (20, c_int, *_QUERY),
    "clCreateProgramWithSource": (26, c_void_p, c_void_p, c_uint, _TEXTS, _SIZES, _STATUS),
    "clCreateProgramWithBinary": (27, c_void_p, *_BINARY, _STATUS),
    "clReleaseProgram": (29, c_int, c_void_p),
    "clBuildProgram": (30, c_int, c_void_p, c_uint, _HANDLES, c_char_p, c_void_p, c_void_p),
    "clGetProgramInfo": (32, c_int, *_QUERY),
    "clGetProgramBuildInfo": (33, c_int, c_void_p, *_QUERY),
    "clCreateKernel": (34, c_void_p, c_void_p, c_char_p, _STATUS),
    "clReleaseKernel": (37, c_int, c_void_p),
    "clSetKernelArg": (38, c_int, c_void_p, c_uint, c_size_t, c_void_p),
    "clGetKernelInfo": (39, c_int, *_QUERY),
    "clWaitForEvents": (41, c_int, c_uint, _HANDLES),
    "clGetEventInfo": (42, c_int, *_QUERY),
    "clReleaseEvent": (44, c_int, c_void_p),
    "clGetEventProfilingInfo": (45, c_int, *_QUERY),
    "clFlush": (46, c_int, c_void_p),
    "clFinish": (47, c_int, c_void_p),
    "clEnqueueReadBuffer": (48, c_int, *_COPY, *_EVENTS),
    "clEnqueueWriteBuffer": (49, c_int, *_COPY, *_EVENTS),
    "clEnqueueCopyImageToBuffer": (54, c_int),
    "clEnqueueCopyBufferToImage": (55, c_int),
    "clEnqueueNDRangeKernel": (59, c_int, *_LAUNCH, *_EVENTS),
    "clCreateSubBuffer": (82, c_void_p, c_void_p, c_uint64, c_uint, c_void_p, _STATUS),
    "clCreateImage": (96, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p, c_void_p, _STATUS),
    "clEnqueueFillBuffer": (102, c_int, *_FILL, *_EVENTS),
    "clEnqueueMarkerWithWaitList": (105, c_int, c_void_p, *_EVENTS),
    "clEnqueueBarrierWithWaitList": (106, c_int, c_void_p, *_EVENTS),
    "clGetExtensionFunctionAddressForPlatform": (107, c_void_p, c_void_p, c_char_p),
    "clSVMAlloc": (126, c_void_p, c_void_p, c_uint64, c_size_t, c_uint),
    "clSVMFree": (127, None, c_void_p, c_void_p),
    "clSetKernelArgSVMPointer": (134, c_int, c_void_p, c_uint, c_void_p),
}

_LOADERS = (
    "libOpenCL.so.1",
    "libOpenCL.so",
    "OpenCL.dll",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
)

# A function object, made of an address. Python's lock is released while it is called.
FUNCTION = ctypes.CFUNCTYPE(c_int)

# The same for a function that takes less time than giving the lock back and waiting for it.
_QUERY_FUNCTION = ctypes.PYFUNCTYPE(c_int)
_QUERIES = frozenset({"clGetPlatformInfo", "clGetDeviceInfo"})


class Functions(dict[str, Any]):
    """The functions of one driver with declared types, by name."""

    def __init__(self, table: int) -> None:
        self._table = table

    def __missing__(self, name: str) -> Any:
        function = self.untyped(name)
        _, function.restype, *function.argtypes = FUNCTIONS[name]
        self[name] = function
        return function

    def untyped(self, name: str) -> Any:
        """A function that takes objects of ctypes only, which makes a call a third faster."""
        kind = _QUERY_FUNCTION if name in _QUERIES else FUNCTION
        function: Any = kind(self._address(name))
        function.__name__ = name
        return function

    def _address(self, name: str) -> int:
        place = self._table + FUNCTIONS[name][0] * ctypes.sizeof(c_void_p)
        address = c_void_p.from_address(place).value
        assert address, name
        return address


class LoaderFunctions(Functions):
    """Those of the loader, or of a driver that takes its place."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(0)
        self._library = library

    def _address(self, name: str) -> int:
        address = ctypes.cast(self._library[name], c_void_p).value
        assert address, name
        return address


_at = cache(Functions)  # Those of the driver with this table.
_LOADER: list[LoaderFunctions] = []  # The loader, where it is used.


def functions_of(item: int) -> Functions:
    return _LOADER[0] if _LOADER else _at(c_void_p.from_address(item).value or 0)


def use_loader() -> ctypes.CDLL:
    """The system's library, from then on used for all objects (DeviceError if there is none)."""
    for name in _LOADERS:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        _LOADER[:] = [LoaderFunctions(library)]
        return library
    raise DeviceError(
        f"OpenCL is not installed; install it, with a driver for the CPU, with: {for_processors()}"
    )
