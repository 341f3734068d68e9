"""The functions of OpenCL through ctypes, from the loader that finds the drivers.

pyopencl is not imported, which would take longer than loading a model. But its wheels contain a
loader that finds the drivers from PyPI as well as those of the system.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ..errors import DeviceError
from ..launch.owned import Owned
from .drivers import HOME, loader_homes

_LINKED = "_cl.*.so"
"""In pyopencl's folder, the library that is linked to its loader.

Drivers from PyPI are found only through it: it sets the path on which the loader looks for them.
"""
_INSTALLED = (
    "libOpenCL.so.1",
    "libOpenCL.so",
    "OpenCL.dll",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
)

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
    "clGetPlatformIDs": (c_uint, _HANDLES, POINTER(c_uint)),
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
"""The parameters and results of other functions. Some loaders lack those of OpenCL 2.0."""

_STATUSES = {
    -1: "DEVICE_NOT_FOUND DEVICE_NOT_AVAILABLE COMPILER_NOT_AVAILABLE "
    "MEM_OBJECT_ALLOCATION_FAILURE OUT_OF_RESOURCES OUT_OF_HOST_MEMORY "
    "PROFILING_INFO_NOT_AVAILABLE MEM_COPY_OVERLAP IMAGE_FORMAT_MISMATCH "
    "IMAGE_FORMAT_NOT_SUPPORTED BUILD_PROGRAM_FAILURE MAP_FAILURE MISALIGNED_SUB_BUFFER_OFFSET "
    "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST COMPILE_PROGRAM_FAILURE LINKER_NOT_AVAILABLE "
    "LINK_PROGRAM_FAILURE DEVICE_PARTITION_FAILED KERNEL_ARG_INFO_NOT_AVAILABLE",
    -30: "INVALID_VALUE INVALID_DEVICE_TYPE INVALID_PLATFORM INVALID_DEVICE INVALID_CONTEXT "
    "INVALID_QUEUE_PROPERTIES INVALID_COMMAND_QUEUE INVALID_HOST_PTR INVALID_MEM_OBJECT "
    "INVALID_IMAGE_FORMAT_DESCRIPTOR INVALID_IMAGE_SIZE INVALID_SAMPLER INVALID_BINARY "
    "INVALID_BUILD_OPTIONS INVALID_PROGRAM INVALID_PROGRAM_EXECUTABLE INVALID_KERNEL_NAME "
    "INVALID_KERNEL_DEFINITION INVALID_KERNEL INVALID_ARG_INDEX INVALID_ARG_VALUE "
    "INVALID_ARG_SIZE INVALID_KERNEL_ARGS INVALID_WORK_DIMENSION INVALID_WORK_GROUP_SIZE "
    "INVALID_WORK_ITEM_SIZE INVALID_GLOBAL_OFFSET INVALID_EVENT_WAIT_LIST INVALID_EVENT "
    "INVALID_OPERATION INVALID_GL_OBJECT INVALID_BUFFER_SIZE INVALID_MIP_LEVEL "
    "INVALID_GLOBAL_WORK_SIZE",
    -1001: "PLATFORM_NOT_FOUND_KHR",
}
"""The names of statuses without CL_, from each number downwards."""


class OpenCLError(Exception):
    """An OpenCL function that failed, and its status."""

    def __init__(self, function: str, code: int) -> None:
        self.function, self.status = function, _status(code)
        super().__init__(f"{function} failed with {self.status}")


def _status(code: int) -> str:
    for first, names in _STATUSES.items():
        words = names.split()
        if 0 <= first - code < len(words):
            return words[first - code]
    return f"status {code}"


_SETTINGS = {
    # PoCL would compile each kernel twice: at the first launch, for grids of its kind, and when
    # asked for the binary, for all.
    "POCL_WORK_GROUP_SPECIALIZATION": "0",
    # Intel's driver for processors would join work-items in vectors. Kernels have vectors of their
    # own: it takes three times as long to compile them, and they run no faster.
    "CL_CONFIG_CPU_VECTORIZER_MODE": "1",
}
"""Variables that drivers read, unless the environment has them."""


@cache
def library() -> Any:
    """The loader, with the types of its functions declared; DeviceError if there is none."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    for name in _candidates():
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        for function, parameters in _CALLS.items():
            getattr(found, function).argtypes = parameters
        for function, parameters in _MAKERS.items():
            getattr(found, function).argtypes = (*parameters, POINTER(c_int))
            getattr(found, function).restype = c_void_p
        for function, (parameters, result) in _OTHERS.items():
            if hasattr(found, function):
                getattr(found, function).argtypes = parameters
                getattr(found, function).restype = result
        return found
    raise DeviceError(
        "OpenCL is not installed; install it, with a driver for the CPU, with: "
        "pip install 'tflgpu[cpu]'"
    )


def _candidates() -> Iterator[str]:
    for home in loader_homes():
        # Where that loader looks for drivers from PyPI.
        os.environ.setdefault(HOME, str(home))
        yield from map(str, home.glob(_LINKED))
    yield from _INSTALLED


def call(function: str, *arguments: Any) -> None:
    """Call a function that returns a status (OpenCLError)."""
    status = getattr(library(), function)(*arguments)
    if status:
        raise OpenCLError(function, status)


def make(function: str, *arguments: Any) -> int:
    """Call a function that returns an object, which the caller must release (OpenCLError)."""
    status = c_int()
    made: int = getattr(library(), function)(*arguments, ctypes.byref(status))
    if status.value:
        raise OpenCLError(function, status.value)
    return made


@contextmanager
def driver_call(device: str, doing: str) -> Iterator[None]:
    """Turn an OpenCLError into a DeviceError that says what was being done, on which device."""
    try:
        yield
    except OpenCLError as error:
        raise DeviceError(f"{device}: {error} while {doing}") from error


def query(function: str, *subject: Any) -> bytes:
    """The result of a function that returns a property of an object (OpenCLError)."""
    size = c_size_t()
    call(function, *subject, 0, None, size)
    content = ctypes.create_string_buffer(size.value)
    call(function, *subject, size.value, content, None)
    return content.raw


class OwnedHandles(Owned[tuple[Any, ...]]):
    """Objects of the driver, each with the function that releases it."""

    def add(self, release: str | Callable[..., int], *made: int) -> int:
        """The last of the objects, all of which are arguments of the function that releases it."""
        self._items.append((release, *made))
        return made[-1]

    def _free(self, items: Sequence[tuple[Any, ...]]) -> None:
        """Release these objects, the last one first."""
        for release, *made in reversed(items):
            with suppress(OpenCLError):
                call(release, *made) if isinstance(release, str) else release(*made)


def handles(*items: int) -> Any:
    """An array of handles."""
    return (c_void_p * len(items))(*items)


def sizes(*items: int) -> Any:
    """An array of sizes."""
    return (c_size_t * len(items))(*items)
