"""The functions of OpenCL through ctypes, from the driver that made an object.

Whatever a driver makes begins with the address of a table of its functions. The loader of OpenCL,
libOpenCL, passes calls on through these tables, but loads every driver that is installed, each with
a compiler of its own, where one is wanted. So it is used only where drivers are registered nowhere.
https://github.com/KhronosGroup/OpenCL-Headers/blob/main/CL/cl_icd.h
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ..errors import DeviceError

PLACES = {
    "clGetPlatformInfo": 1,
    "clGetDeviceIDs": 2,
    "clGetDeviceInfo": 3,
    "clCreateContext": 4,
    "clRetainContext": 6,
    "clReleaseContext": 7,
    "clGetContextInfo": 8,
    "clCreateCommandQueue": 9,
    "clRetainCommandQueue": 10,
    "clReleaseCommandQueue": 11,
    "clGetCommandQueueInfo": 12,
    "clCreateBuffer": 14,
    "clRetainMemObject": 17,
    "clReleaseMemObject": 18,
    "clGetMemObjectInfo": 20,
    "clCreateProgramWithSource": 26,
    "clCreateProgramWithBinary": 27,
    "clReleaseProgram": 29,
    "clBuildProgram": 30,
    "clGetProgramInfo": 32,
    "clGetProgramBuildInfo": 33,
    "clCreateKernel": 34,
    "clReleaseKernel": 37,
    "clSetKernelArg": 38,
    "clGetKernelInfo": 39,
    "clWaitForEvents": 41,
    "clGetEventInfo": 42,
    "clReleaseEvent": 44,
    "clGetEventProfilingInfo": 45,
    "clFlush": 46,
    "clFinish": 47,
    "clEnqueueReadBuffer": 48,
    "clEnqueueWriteBuffer": 49,
    "clEnqueueCopyImageToBuffer": 54,
    "clEnqueueCopyBufferToImage": 55,
    "clEnqueueNDRangeKernel": 59,
    "clCreateSubBuffer": 82,
    "clCreateImage": 96,
    "clEnqueueFillBuffer": 102,
    "clEnqueueMarkerWithWaitList": 105,
    "clEnqueueBarrierWithWaitList": 106,
    "clGetExtensionFunctionAddressForPlatform": 107,
    "clSVMAlloc": 126,
    "clSVMFree": 127,
    "clSetKernelArgSVMPointer": 134,
}
"""Where the functions of OpenCL 1.0 to 2.0 that are called stand in a table."""

_HANDLES, _SIZES = POINTER(c_void_p), POINTER(c_size_t)
_EVENTS = (c_uint, c_void_p, _HANDLES)
"""Events to wait for, and the one to create."""
_QUERY = (c_void_p, c_uint, c_size_t, c_void_p, _SIZES)

_CALLS: dict[str, tuple[Any, ...]] = {
    "clBuildProgram": (c_void_p, c_uint, _HANDLES, c_char_p, c_void_p, c_void_p),
    "clEnqueueBarrierWithWaitList": (c_void_p, *_EVENTS),
    "clEnqueueFillBuffer": (
        *(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t),
        *_EVENTS,
    ),
    "clEnqueueNDRangeKernel": (c_void_p, c_void_p, c_uint, _SIZES, _SIZES, _SIZES, *_EVENTS),
    "clEnqueueReadBuffer": (c_void_p, c_void_p, c_uint, c_size_t, c_size_t, c_void_p, *_EVENTS),
    "clEnqueueWriteBuffer": (c_void_p, c_void_p, c_uint, c_size_t, c_size_t, c_void_p, *_EVENTS),
    "clEnqueueMarkerWithWaitList": (c_void_p, *_EVENTS),
    "clFinish": (c_void_p,),
    "clFlush": (c_void_p,),
    "clGetCommandQueueInfo": _QUERY,
    "clGetContextInfo": _QUERY,
    "clGetDeviceIDs": (c_void_p, c_uint64, c_uint, _HANDLES, POINTER(c_uint)),
    "clGetDeviceInfo": _QUERY,
    "clGetEventInfo": _QUERY,
    "clGetEventProfilingInfo": _QUERY,
    "clGetKernelInfo": _QUERY,
    "clGetMemObjectInfo": _QUERY,
    "clGetPlatformInfo": _QUERY,
    "clGetProgramBuildInfo": (c_void_p, *_QUERY),
    "clGetProgramInfo": _QUERY,
    "clReleaseCommandQueue": (c_void_p,),
    "clReleaseContext": (c_void_p,),
    "clReleaseEvent": (c_void_p,),
    "clReleaseKernel": (c_void_p,),
    "clReleaseMemObject": (c_void_p,),
    "clReleaseProgram": (c_void_p,),
    "clRetainCommandQueue": (c_void_p,),
    "clRetainContext": (c_void_p,),
    "clRetainMemObject": (c_void_p,),
    "clSetKernelArg": (c_void_p, c_uint, c_size_t, c_void_p),
    "clSetKernelArgSVMPointer": (c_void_p, c_uint, c_void_p),
    "clWaitForEvents": (c_uint, _HANDLES),
}
"""The parameters of functions that return a status."""

_MAKERS: dict[str, tuple[Any, ...]] = {
    "clCreateBuffer": (c_void_p, c_uint64, c_size_t, c_void_p),
    "clCreateCommandQueue": (c_void_p, c_void_p, c_uint64),
    "clCreateContext": (c_void_p, c_uint, _HANDLES, c_void_p, c_void_p),
    "clCreateImage": (c_void_p, c_uint64, c_void_p, c_void_p, c_void_p),
    "clCreateKernel": (c_void_p, c_char_p),
    "clCreateProgramWithBinary": (
        *(c_void_p, c_uint, _HANDLES, _SIZES),
        *(POINTER(c_char_p), POINTER(c_int)),
    ),
    "clCreateProgramWithSource": (c_void_p, c_uint, POINTER(c_char_p), _SIZES),
    "clCreateSubBuffer": (c_void_p, c_uint64, c_uint, c_void_p),
}
"""The parameters of functions that return an object, except the last, which is the status."""

_OTHERS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "clGetExtensionFunctionAddressForPlatform": ((c_void_p, c_char_p), c_void_p),
    "clSVMAlloc": ((c_void_p, c_uint64, c_size_t, c_uint), c_void_p),
    "clSVMFree": ((c_void_p, c_void_p), None),
}
"""The parameters and results of other functions."""

_LOADERS = (
    "libOpenCL.so.1",
    "libOpenCL.so",
    "OpenCL.dll",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
)

FUNCTION = ctypes.CFUNCTYPE(c_int)
"""A function object, made of an address. Python's lock is released while it is called."""


class Functions(dict[str, Any]):
    """The functions of one driver with declared types, by name."""

    def __init__(self, table: int) -> None:
        self._table = table

    def __missing__(self, name: str) -> Any:
        function = self.untyped(name)
        if name in _CALLS:
            function.argtypes = _CALLS[name]
        elif name in _MAKERS:
            function.argtypes, function.restype = (*_MAKERS[name], POINTER(c_int)), c_void_p
        else:
            function.argtypes, function.restype = _OTHERS[name]
        self[name] = function
        return function

    def untyped(self, name: str) -> Any:
        """A function object without declared types, which makes a call a third faster.

        Its arguments must be objects of ctypes.
        """
        function: Any = FUNCTION(self._address(name))
        function.__name__ = name
        return function

    def _address(self, name: str) -> int:
        place = self._table + PLACES[name] * ctypes.sizeof(c_void_p)
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


@cache
def _at(table: int) -> Functions:
    return Functions(table)


_LOADER: list[LoaderFunctions] = []
"""The loader, where it is used."""


def functions_of(item: int) -> Functions:
    """The functions for an object of a driver."""
    return _LOADER[0] if _LOADER else _at(c_void_p.from_address(item).value or 0)


def use_loader() -> ctypes.CDLL:
    """The system's library, which from then on is used for all objects.

    DeviceError if there is none.
    """
    for name in _LOADERS:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        _LOADER[:] = [LoaderFunctions(library)]
        return library
    raise DeviceError(
        "OpenCL is not installed; install it, with a driver for the CPU, with: "
        "pip install 'tflgpu[cpu]'"
    )
