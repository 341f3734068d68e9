"""OpenGL contexts without a window, through EGL: one for each device that the drivers offer.

OpenGL ES 3.1 is tried first, because the kernels are written for it and many mobile devices have
nothing else; OpenGL 4.3 runs the same kernels.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any, NamedTuple

from ..errors import DeviceError
from ..startup import DRIVER_PROCESS, in_background

# As in EGL's headers, without the prefix EGL_.
_NONE = 0x3038
_RENDERABLE_TYPE = 0x3040
_SURFACE_TYPE = 0x3033
_DRAW, _READ = 0x3059, 0x305A
_PLATFORM_DEVICE = 0x313F
_MAJOR_VERSION, _MINOR_VERSION, _PROFILE_MASK = 0x3098, 0x30FB, 0x30FD
_OPENGL_ES_API, _OPENGL_API = 0x30A0, 0x30A2
_OPENGL_ES3_BIT, _OPENGL_BIT = 0x0040, 0x0008
_CORE_PROFILE = 1

# The API, its bit in a configuration, and the attributes of a context, in order of preference.
_KINDS = (
    (_OPENGL_ES_API, _OPENGL_ES3_BIT, (_MAJOR_VERSION, 3, _MINOR_VERSION, 1, _NONE)),
    (
        _OPENGL_API,
        _OPENGL_BIT,
        (_MAJOR_VERSION, 4, _MINOR_VERSION, 3, _PROFILE_MASK, _CORE_PROFILE, _NONE),
    ),
)

_LOCK = threading.Lock()  # Some driver loaders crash if two threads enter them at once.
_STARTED: list[Callable[[], None]] = []  # Once drivers are started, what waits for that.

# The result and the parameters of each function.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "eglBindAPI": (c_uint, c_uint),
    "eglChooseConfig": (c_uint, c_void_p, c_void_p, c_void_p, c_int, c_void_p),
    "eglCreateContext": (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "eglDestroyContext": (c_uint, c_void_p, c_void_p),
    "eglGetCurrentContext": (c_void_p,),
    "eglGetCurrentDisplay": (c_void_p,),
    "eglGetCurrentSurface": (c_void_p, c_int),
    "eglGetDisplay": (c_void_p, c_void_p),
    "eglGetError": (c_int,),
    "eglGetProcAddress": (c_void_p, c_char_p),
    "eglInitialize": (c_uint, c_void_p, c_void_p, c_void_p),
    "eglMakeCurrent": (c_uint, c_void_p, c_void_p, c_void_p, c_void_p),
    "eglQueryAPI": (c_uint,),
}


@cache
def _library() -> Any:
    """libEGL, with the types of its functions declared; DeviceError if it is not installed."""
    for name in ("libEGL.so.1", "libEGL.so", "libEGL.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function, (result, *parameters) in _SIGNATURES.items():
            getattr(library, function).restype = result
            getattr(library, function).argtypes = parameters
        return library
    raise DeviceError(
        "OpenGL without a window needs libEGL, which is not installed; it comes with the driver of "
        "a GPU, or install one that runs on the CPU, on Debian and Ubuntu with: "
        "apt install libegl1 libgl1-mesa-dri"
    )


def _extension(name: str, *types: Any) -> Callable[..., Any] | None:
    """A function of an extension; None if the library lacks it."""
    address = _library().eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(*types)(address) if address else None


def start() -> Callable[[], None]:
    """Begin to start every installed driver, unless that was done; returns what waits for it.

    DeviceError in a process forked from one that has started drivers.
    """
    DRIVER_PROCESS.start()
    with _LOCK:
        if not _STARTED:
            _STARTED.append(in_background(_start, "OpenGL drivers"))
        return _STARTED[0]


def _start() -> None:
    # The first context is the slow one. `contexts` reports any errors.
    with suppress(DeviceError):
        for context in _contexts():
            context.release()


def contexts() -> list[Context]:
    """A context for each device that can run compute shaders, current on no thread (DeviceError).

    The caller must release them.
    """
    check_window()
    start()()
    return _contexts()


def _contexts() -> list[Context]:
    return [context for display in _displays() if (context := _create(display)) is not None]


def _displays() -> list[int]:
    """A connection to each device. They stay open, as the application may use the same ones."""
    egl = _library()
    displays = _device_displays() or [egl.eglGetDisplay(None)]
    return [item for item in displays if item and egl.eglInitialize(item, None, None)]


def _device_displays() -> list[int]:
    """A connection to each device; empty if the drivers cannot list devices."""
    query = _extension("eglQueryDevicesEXT", c_uint, c_int, POINTER(c_void_p), POINTER(c_int))
    connect = _extension("eglGetPlatformDisplayEXT", c_void_p, c_uint, c_void_p, c_void_p)
    if query is None or connect is None:
        return []
    count = c_int()
    if not query(0, None, count) or not count.value:
        return []
    devices = (c_void_p * count.value)()
    query(count.value, devices, count)
    return [connect(_PLATFORM_DEVICE, device, None) for device in devices]


def _create(display: int) -> Context | None:
    """The first kind of context that a device supports and that works without a surface."""
    egl = _library()
    before = egl.eglQueryAPI()
    try:
        for api, bit, wanted in _KINDS:
            if not egl.eglBindAPI(api):
                continue
            attributes = (c_int * len(wanted))(*wanted)
            handle = egl.eglCreateContext(display, _config(display, bit), None, attributes)
            if handle:
                context = Context(display, api, handle)
                if context.works():
                    return context
                context.release()
    finally:
        egl.eglBindAPI(before)
    return None


def _config(display: int, bit: int) -> int | None:
    """A configuration for such contexts; None if there is none, which most drivers accept too."""
    wanted = (c_int * 5)(_RENDERABLE_TYPE, bit, _SURFACE_TYPE, 0, _NONE)
    config, count = c_void_p(), c_int()
    ok = _library().eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
    return config.value if ok and count.value else None


class Current(NamedTuple):
    """A context that is current on a thread, with its surfaces."""

    api: int
    display: int | None
    draw: int | None
    read: int | None
    context: int | None  # None if there is none.


def current() -> Current:
    """What is current on this thread, for the API that is bound."""
    egl = _library()
    return Current(
        egl.eglQueryAPI(),
        egl.eglGetCurrentDisplay(),
        egl.eglGetCurrentSurface(_DRAW),
        egl.eglGetCurrentSurface(_READ),
        egl.eglGetCurrentContext(),
    )


def make_current(wanted: Current) -> None:
    """Make a context current on this thread (DeviceError)."""
    egl = _library()
    before = egl.eglQueryAPI()
    egl.eglBindAPI(wanted.api)
    if not egl.eglMakeCurrent(wanted.display, wanted.draw, wanted.read, wanted.context):
        error = egl.eglGetError()
        egl.eglBindAPI(before)
        check_window()
        raise DeviceError(f"eglMakeCurrent failed with 0x{error:04x}")


def window_context() -> int:
    """The context of GLX, which windows on X11 have, that is current on this thread; 0 if none.

    EGL does not know it, and can make no other one current meanwhile.
    """
    for name in ("libGLX.so.0", "libGL.so.1"):
        with suppress(OSError, AttributeError):
            # Only if the application has loaded it.
            current_context = ctypes.CDLL(name, os.RTLD_NOLOAD).glXGetCurrentContext
            current_context.restype = c_void_p
            return current_context() or 0
    return 0


def check_window() -> None:
    """DeviceError if a context of GLX is current on this thread."""
    if window_context():
        raise DeviceError(
            "a context of GLX, such as that of a window on X11, is current on this thread, and the "
            "model's own cannot be meanwhile; load the model with context= the moderngl.Context "
            "that is current, or load and run it on another thread"
        )


def restore(before: Current) -> None:
    """Make a context current again, unless it was destroyed meanwhile."""
    if before.context:
        with suppress(DeviceError):
            make_current(before)


class Context:
    """An OpenGL context that is current only inside its `with` block.

    Only one thread can be inside; others wait. Afterwards, whatever context was current before, of
    the application or of another session, is current again. Blocks may be nested.
    """

    def __init__(self, display: int, api: int, handle: int) -> None:
        self._display = display
        self._api = api
        self._handle: int | None = handle
        self._lock = threading.RLock()
        self._depth = 0
        self._before: Current | None = None

    def __enter__(self) -> Context:
        """DeviceError if the driver cannot make it current."""
        self._lock.acquire()
        if not self._depth:
            try:
                self._make_current()
            except BaseException:
                self._lock.release()
                raise
        self._depth += 1
        return self

    def _make_current(self) -> None:
        if self._handle is None:
            raise DeviceError("the OpenGL context has been released")
        self._before = current()
        make_current(Current(self._api, self._display, None, None, self._handle))

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._restore()
        self._lock.release()

    def _restore(self) -> None:
        assert self._before is not None
        _library().eglMakeCurrent(self._display, None, None, None)
        _library().eglBindAPI(self._before.api)
        restore(self._before)

    def works(self) -> bool:
        """Whether it can be made current without a surface, which some drivers require."""
        try:
            with self:
                return True
        except DeviceError:
            return False

    @staticmethod
    def load(name: str) -> int:
        """The address of an OpenGL function in any context; 0 if the driver lacks it."""
        return _library().eglGetProcAddress(name.encode()) or 0

    load_opengl_function = load  # The name by which moderngl calls it.

    @classmethod
    def function(cls, name: str, *types: Any) -> Callable[..., Any]:
        """An OpenGL function of this result and these parameters (DeviceError)."""
        address = cls.load(name)
        if not address:
            raise DeviceError(f"the OpenGL driver lacks the function {name}; update it")
        return ctypes.CFUNCTYPE(*types)(address)

    def release(self) -> None:
        """Destroy the context, unless that has been done."""
        if self._handle is not None:
            _library().eglDestroyContext(self._display, self._handle)
            self._handle = None
