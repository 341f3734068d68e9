"""Recording launches so that the driver starts them all in one call: cl_khr_command_buffer.

The loader does not export the extension's functions; a platform returns the addresses of its own.
https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_Ext.html#cl_khr_command_buffer
"""

from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from .functions import functions_of
from .library import OpenCLError, OwnedHandles, handles

EXTENSION = "cl_khr_command_buffer"
# Platforms that never free a program whose kernel was recorded, seen in Intel's 2026.2: half a
# megabyte a session. A plan for a processor has few launches, which gain nothing from a record.
LEAKING = frozenset({"Intel(R) OpenCL"})

_INVALID_VALUE = -30  # CL_INVALID_VALUE.
_SIZES = POINTER(c_size_t)
# The result and the parameters of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "clCreateCommandBufferKHR": (c_void_p, c_uint, POINTER(c_void_p), c_void_p, POINTER(c_int)),
    "clCommandNDRangeKernelKHR": (
        *(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_uint, _SIZES, _SIZES, _SIZES),
        *(c_uint, c_void_p, c_void_p, c_void_p),
    ),
    "clFinalizeCommandBufferKHR": (c_int, c_void_p),
    "clEnqueueCommandBufferKHR": (c_int, c_uint, c_void_p, c_void_p, c_uint, c_void_p, c_void_p),
    "clReleaseCommandBufferKHR": (c_int, c_void_p),
}


class CommandBuffers:
    def __init__(self, platform: int, queue: int, owned: OwnedHandles) -> None:
        """OpenCLError if the platform lacks a function; `owned` takes the command buffers."""
        self._queue, self._owned = handles(queue), owned
        self._functions = {name: _function(platform, name) for name in _FUNCTIONS}

    def record(self, launches: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The function and its arguments that start all launches (OpenCLError).

        Each launch is given as the arguments of clEnqueueNDRangeKernel.
        """
        status = c_int()
        made = self._functions["clCreateCommandBufferKHR"](1, self._queue, None, byref(status))
        _check("clCreateCommandBufferKHR", status.value)
        release = self._functions["clReleaseCommandBufferKHR"]
        recorded = c_void_p(self._owned.add(release, made))
        for _, kernel, *extents, _, _, _ in launches:
            launch = (None, None, kernel, *extents, 0, None, None, None)
            self._call("clCommandNDRangeKernelKHR", recorded, *launch)
        self._call("clFinalizeCommandBufferKHR", recorded)
        return (self._functions["clEnqueueCommandBufferKHR"], 0, None, recorded, 0, None, None)

    def _call(self, name: str, *arguments: Any) -> None:
        _check(name, self._functions[name](*arguments))


def _function(platform: int, name: str) -> Callable[..., Any]:
    result, *parameters = _FUNCTIONS[name]
    find = functions_of(platform)["clGetExtensionFunctionAddressForPlatform"]
    address = find(platform, name.encode())
    if not address:
        raise OpenCLError(name, _INVALID_VALUE)
    function: Callable[..., Any] = CFUNCTYPE(result, *parameters)(address)
    function.__name__ = name
    return function


def _check(name: str, status: int) -> None:
    if status:
        raise OpenCLError(name, status)
