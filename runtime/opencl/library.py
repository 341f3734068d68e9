"""Calling OpenCL: statuses as errors, properties as bytes, objects with who releases them."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

from ..errors import DeviceError
from ..launch.owned import Owned
from .functions import functions_of

# The names of statuses without CL_, from each number downwards.
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


# Which argument holds the objects of functions that do not begin with one.
_LISTS = {"clCreateContext": 2, "clWaitForEvents": 1}


def _function(name: str, arguments: Sequence[Any]) -> Any:
    item = arguments[_LISTS[name]][0] if name in _LISTS else arguments[0]
    return functions_of(item)[name]


def call(function: str, *arguments: Any) -> None:
    """Call a function that returns a status (OpenCLError)."""
    status = _function(function, arguments)(*arguments)
    if status:
        raise OpenCLError(function, status)


def make(function: str, *arguments: Any) -> int:
    """Call a function that returns an object, which the caller must release (OpenCLError)."""
    status = c_int()
    made: int = _function(function, arguments)(*arguments, ctypes.byref(status))
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

    def __init__(self) -> None:
        super().__init__(_release)

    def add(self, release: str | Callable[..., int], *made: int) -> int:
        """The last of the objects, all of which are arguments of the function that releases it."""
        self.keep((release, *made))
        return made[-1]


def _release(items: Sequence[tuple[Any, ...]]) -> None:
    """Release objects, the last one first."""
    for release, *made in reversed(items):
        with suppress(OpenCLError):
            call(release, *made) if isinstance(release, str) else release(*made)


def handles(*items: int) -> Any:
    return (c_void_p * len(items))(*items)


def sizes(*items: int) -> Any:
    return (c_size_t * len(items))(*items)
