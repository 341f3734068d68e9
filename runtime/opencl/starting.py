"""Loading drivers as soon as a model is to be loaded, while this thread imports what it needs.

A driver brings a compiler, which takes about as long to load as numpy. What is imported before that
does without pathlib and dataclasses, which this thread imports meanwhile.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from ..errors import DeviceError
from ..startup import DRIVER_PROCESS, in_background
from . import platforms
from .drivers import VENDORS
from .library import OpenCLError, handles, make
from .trials import Trials, known

# Modules of Python in libraries, which the system loads one at a time: this thread would wait for
# the driver if it imported one of them meanwhile.
_LIBRARIES = ("bisect", "math", "mmap", "opcode")
CONTEXTS: dict[int, int] = {}  # By the handle of a device, a context to open it with.
# By the name of a device, what waits for its drivers to be loaded.
_STARTED: dict[str, Callable[[], None]] = {}


def start(name: str) -> None:
    """Begin to load the drivers for a device of this name on another thread (DeviceError)."""
    DRIVER_PROCESS.start()
    if name not in _STARTED:
        # Here, as the other thread waits for Python's lock whenever it does more than call drivers.
        libraries = _trials().likely(name)
        for library in _LIBRARIES:
            import_module(library)
        _STARTED[name] = in_background(lambda: _start(libraries), "OpenCL drivers")


def _start(libraries: Sequence[str]) -> None:
    # Whoever opens a device later gets the error.
    with suppress(DeviceError, OpenCLError):
        found = _of(libraries)
        if len(found) == 1:
            # Intel's driver loads its compiler for the first one.
            CONTEXTS[found[0]] = make("clCreateContext", None, 1, handles(*found), None, None)


def present() -> list[int]:
    """The handles of all devices whose drivers may be loaded (DeviceError)."""
    return _of(_trials().usable())


def likely(name: str) -> list[int]:
    """Those of the drivers that alone need be loaded for a device of this name (DeviceError)."""
    if name in _STARTED:
        _STARTED[name]()
    return _of(_trials().likely(name))


def _of(libraries: Sequence[str]) -> list[int]:
    DRIVER_PROCESS.start()
    if not known().drivers:
        return platforms.devices_of_loader()
    return platforms.devices(libraries)


def _trials() -> Trials:
    trials = known()
    if trials.drivers:
        # For the loader, if something else in this process uses it.
        os.environ.setdefault(VENDORS, trials.vendors())
    return trials
