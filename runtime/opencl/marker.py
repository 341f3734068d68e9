"""Events of an OpenCL queue, and those it waits for."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from ctypes import c_void_p
from typing import Any

from ..errors import DeviceError, InputError
from ..startup import DRIVER_PROCESS
from .library import OpenCLError, call, driver_call, handles, query

_COMMAND_EXECUTION_STATUS = 0x11D3  # CL_EVENT_COMMAND_EXECUTION_STATUS.
_DOING = "running the kernels"


class OpenCLMarker:
    """A marker in an in-order queue. Implements `launch.device.Marker`."""

    any_thread = True

    def __init__(self, device: str, queue: int, kept: list[Any]) -> None:
        """`device` is its name for messages; `kept` are arrays that the driver is copying."""
        self._name, self._kept = device, kept
        event = c_void_p()
        with driver_call(device, "marking the end of a run"):
            call("clEnqueueMarkerWithWaitList", queue, 0, None, event)
            call("clFlush", queue)
        assert event.value is not None
        self._event = event.value

    @property
    def done(self) -> bool:
        with driver_call(self._name, _DOING):
            status = query("clGetEventInfo", self._event, _COMMAND_EXECUTION_STATUS)
        number = int.from_bytes(status, sys.byteorder, signed=True)
        if number < 0:
            error = OpenCLError("a command", number)
            raise DeviceError(f"{self._name}: {error} while {_DOING}")
        return number == 0

    def wait(self) -> None:
        with driver_call(self._name, _DOING):
            call("clWaitForEvents", 1, handles(self._event))

    @property
    def event(self) -> Any:
        """A pyopencl.Event."""
        from pyopencl import Event

        return Event.from_int_ptr(self._event)

    def __del__(self) -> None:
        if hasattr(self, "_event") and not DRIVER_PROCESS.lost:
            with suppress(OpenCLError):
                call("clReleaseEvent", self._event)


def wait_for(device: str, queue: int, events: Sequence[Any]) -> None:
    """Let what follows in a queue wait for pyopencl events of its context (InputError)."""
    others = [event for event in events if not isinstance(getattr(event, "int_ptr", None), int)]
    if others:
        kind = type(others[0]).__name__
        raise InputError(f"wait_for has a {kind}; on OpenCL, give events of pyopencl")
    with driver_call(device, "waiting for events"):
        listed = handles(*(event.int_ptr for event in events))
        call("clEnqueueBarrierWithWaitList", queue, len(events), listed, None)
