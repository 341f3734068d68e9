"""Finding OpenCL devices, and opening one by its name."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError, DeviceWarning, warn_caller
from ..launch.callers_memory import CallersContext
from ..launch.device import DeviceInfo, Unusable, is_named, matching
from ..startup import DRIVER_PROCESS
from . import starting
from .drivers import VENDORS, chosen_place, for_processors
from .info import describe
from .library import OpenCLError, call, driver_call, query
from .trials import known

if TYPE_CHECKING:
    from .device import OpenCLDevice

# As in OpenCL's headers, without the prefix CL_.
_CONTEXT_DEVICES = 0x1081
_QUEUE_CONTEXT, _QUEUE_DEVICE, _QUEUE_PROPERTIES = 0x1090, 0x1091, 0x1093
_OUT_OF_ORDER = 1


def devices() -> list[DeviceInfo]:
    """The OpenCL devices present that work, best first (DeviceError)."""
    return [info for info, _ in _ranked(starting.present())]


def unusable() -> list[Unusable]:
    """The devices and drivers that do not work (DeviceError)."""
    DRIVER_PROCESS.start()
    found = []
    for trial in known().drivers:
        advice = trial.advice()
        if trial.failure:
            found.append(Unusable(str(trial.driver), "opencl", trial.failure, advice))
        for device in trial.devices:
            if not device.widest():
                reason = device.lanes[min(device.lanes)]
                found.append(Unusable(device.name, "opencl", reason, advice))
    return found


def select_device(name: str = "auto") -> DeviceInfo:
    """The best device with `name` in its text, any for "auto" (DeviceError that lists all)."""
    return _select(name)[0]


def open_device(name: str = "auto") -> OpenCLDevice:
    """The selected device, opened (DeviceError); a warning names what "auto" passes over."""
    from .device import OpenCLDevice

    info, handle = _select(name)
    context = starting.CONTEXTS.pop(handle, 0)
    with driver_call(str(info), "opening the device"):
        try:
            return OpenCLDevice(info, handle, context)
        finally:
            if context:
                call("clReleaseContext", context)


def open_in(context: CallersContext, name: str = "auto") -> OpenCLDevice:
    """A device of a context or a queue of the caller (DeviceError)."""
    from .device import OpenCLDevice

    handle = context.owner.int_ptr
    with driver_call(f"the {context.kind}", "opening the device"):
        if context.queue:
            if _of_queue(handle, _QUEUE_PROPERTIES) & _OUT_OF_ORDER:
                raise DeviceError(
                    "the queue runs commands out of order; create it without "
                    "OUT_OF_ORDER_EXEC_MODE_ENABLE, or give its context"
                )
            devices = [_of_queue(handle, _QUEUE_DEVICE)]
            owner, queue = _of_queue(handle, _QUEUE_CONTEXT), handle
        else:
            devices = _words("clGetContextInfo", handle, _CONTEXT_DEVICES)
            owner, queue = handle, 0
        present = [(describe(device), device) for device in devices]
        info, device = matching(name, present, "OpenCL", "the context has no device")[0]
        return OpenCLDevice(_as_tried(info) or info, device, owner, queue)


def _words(function: str, subject: int, name: int) -> list[int]:
    """A property that is an array of handles or sizes (OpenCLError)."""
    content = query(function, subject, name)
    return list(struct.unpack(f"{len(content) // struct.calcsize('P')}P", content))


def _of_queue(queue: int, name: int) -> int:
    return _words("clGetCommandQueueInfo", queue, name)[0]


def advice() -> str:
    if named := chosen_place():
        return (
            f"the environment variable {VENDORS} makes the loader look for drivers in {named} "
            f"only; unset it, or name a folder with .icd files"
        )
    return f"install one that runs on the CPU with: {for_processors()}"


def _select(name: str) -> tuple[DeviceInfo, int]:
    broken = unusable()
    found = _ranked(starting.likely(name))
    if not any(is_named(info, name) for info, _ in found):
        found = _ranked(starting.present())
    best, *_ = matching(name, found, "OpenCL", advice(), broken)
    for each in broken if name == "auto" else ():
        _warn(str(each))
    return best


@cache
def _warn(text: str) -> None:
    warn_caller(DeviceWarning(text))


def _ranked(handles: Sequence[int]) -> list[tuple[DeviceInfo, int]]:
    """Those of these devices, given as the driver's handles, that work, best first."""
    found = []
    for handle in handles:
        # A driver that cannot even describe its device is of no use.
        with suppress(OpenCLError):
            info = _as_tried(describe(handle))
            if info:
                found.append((info, handle))
    return sorted(found, key=lambda pair: preference(pair[0]), reverse=True)


def _as_tried(info: DeviceInfo) -> DeviceInfo | None:
    """A device with what it was found to be able to do; None if it does not work."""
    trial = known().device(str(info), info.driver)
    if trial is None:
        return info
    if not trial.widest():
        return None
    lanes = min(info.vector_width, trial.widest())
    return replace(info, vector_width=lanes, instructions=tuple(trial.instructions))


def preference(info: DeviceInfo) -> tuple[Any, ...]:
    """Greater is better: GPUs, discrete ones first, then Intel's CPU driver, then newer PoCL."""
    return (
        ("other", "cpu", "accelerator", "gpu").index(info.type),
        not info.unified,
        "intel" in info.platform.lower() if info.type == "cpu" else False,
        pocl_version(info.version),
        info.compute_units,
    )


_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")


def pocl_version(platform_version: str) -> tuple[tuple[int, ...], bool, int]:
    """A key that orders platform versions by PoCL's version; a release follows its candidates.

    >>> pocl_version("OpenCL 3.0 PoCL 3.1+debian") > pocl_version("OpenCL 3.0 PoCL 3.0-rc2")
    True
    >>> pocl_version("OpenCL 3.0 PoCL 3.0") > pocl_version("OpenCL 3.0 PoCL 3.0-rc2")
    True
    """
    match = _VERSION.search(platform_version)
    if not match:
        return ((), False, 0)
    numbers = tuple(int(number) for number in match[1].split("."))
    return (numbers, match[2] is None, int(match[3] or 0))
