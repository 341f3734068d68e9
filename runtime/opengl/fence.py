"""Fences of OpenGL, which moderngl does not support: points in the order of a context's commands.

With glFenceSync of OpenGL ES 3.0 and OpenGL 3.2.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from ctypes import c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any

from ..errors import DeviceError, InputError
from ..startup import DRIVER_PROCESS
from .egl import Context

# GL_SYNC_GPU_COMMANDS_COMPLETE and GL_SYNC_FLUSH_COMMANDS_BIT.
_GPU_COMMANDS_COMPLETE, _FLUSH_COMMANDS = 0x9117, 1
_TIMEOUT_EXPIRED, _WAIT_FAILED = 0x911B, 0x911D

# The result and the parameters of each function.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "glFenceSync": (c_void_p, c_uint, c_uint),
    "glClientWaitSync": (c_uint, c_void_p, c_uint, c_uint64),
    "glDeleteSync": (None, c_void_p),
    "glIsSync": (c_ubyte, c_void_p),
    "glWaitSync": (None, c_void_p, c_uint, c_uint64),
}
_NO_TIMEOUT = (1 << 64) - 1  # GL_TIMEOUT_IGNORED.
_PAUSE = 1e-4  # Seconds between two looks at a fence.


class Fences:
    def __init__(self, context: Context) -> None:
        """The context must be current (DeviceError)."""
        self.context = context
        self.gl = {name: context.function(name, *types) for name, types in _SIGNATURES.items()}

    def make(self) -> Fence:
        """A fence after everything that was given to the context, which must be current."""
        return Fence(self, self.gl["glFenceSync"](_GPU_COMMANDS_COMPLETE, 0))

    def wait_for(self, events: Sequence[Any]) -> None:
        """Let what the context is given from now on wait for GLsyncs, as numbers (InputError)."""
        for event in events:
            if not isinstance(event, int) or not self.gl["glIsSync"](event):
                raise InputError(f"wait_for has {event!r}; on OpenGL, give each GLsync as a number")
        for event in events:
            self.gl["glWaitSync"](event, 0, _NO_TIMEOUT)


class Fence:
    """A fence. Implements `launch.device.Marker`."""

    any_thread = False

    def __init__(self, fences: Fences, handle: int) -> None:
        self._fences, self._handle = fences, handle

    @property
    def done(self) -> bool:
        with self._fences.context:
            state = self._fences.gl["glClientWaitSync"](self._handle, _FLUSH_COMMANDS, 0)
        if state == _WAIT_FAILED:
            raise DeviceError("glClientWaitSync failed while running the kernels")
        return bool(state != _TIMEOUT_EXPIRED)

    def wait(self) -> None:
        # Waiting in the driver would keep other threads out of the context.
        while not self.done:
            time.sleep(_PAUSE)

    @property
    def event(self) -> int:
        """The GLsync, as the number that ctypes makes of the pointer."""
        return self._handle

    def __del__(self) -> None:
        if not DRIVER_PROCESS.lost:
            with suppress(DeviceError), self._fences.context:
                self._fences.gl["glDeleteSync"](self._handle)
