"""The OpenCL devices that are present, and what each says of itself."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import c_uint
from typing import Any

from ..background import Startup
from ..errors import DeviceError
from ..launch.device import DeviceInfo
from .library import OpenCLError, call, handles, query
from .pocl import pocl_version

# What OpenCL's headers call them, with CL_ in front.
_DEVICE_TYPE_ALL = 0xFFFFFFFF
_PLATFORM_VERSION, _PLATFORM_NAME = 0x0901, 0x0902
_DEVICE_TYPE = 0x1000
_DEVICE_MAX_COMPUTE_UNITS = 0x1002
_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004
_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005
_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010
_DEVICE_IMAGE_SUPPORT = 0x1016
_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019
_DEVICE_LOCAL_MEM_SIZE = 0x1023
_DEVICE_NAME, _DEVICE_VENDOR, _DRIVER_VERSION = 0x102B, 0x102C, 0x102D
_DEVICE_EXTENSIONS, _DEVICE_PLATFORM = 0x1030, 0x1031
_DEVICE_HOST_UNIFIED_MEMORY = 0x1035
_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A
_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040
_DEVICE_SVM_CAPABILITIES = 0x1053
_SVM_FINE_GRAIN_BUFFER = 2
_DEVICE_ATOMIC_MEMORY_CAPABILITIES = 0x1063
_ATOMIC_ORDER_ACQ_REL, _ATOMIC_SCOPE_DEVICE = 2, 32

_TYPES = {4: "gpu", 8: "accelerator", 2: "cpu"}
"""Bits of CL_DEVICE_TYPE, the one that counts first."""
_SIZE_BYTES = 8


def _start_drivers() -> None:
    """What goes wrong here is reported when devices are asked for."""
    with suppress(DeviceError):
        _present()


DRIVERS = Startup(_start_drivers, "OpenCL drivers")
"""The start of every installed driver."""


def ranked() -> list[tuple[DeviceInfo, int]]:
    """What is present, the best first, with the driver's handles; DeviceError without OpenCL."""
    DRIVERS.wait()
    found = []
    for device in _present():
        # A driver that cannot even describe its device is of no use.
        with suppress(OpenCLError):
            found.append((describe(device), device))
    return sorted(found, key=lambda pair: preference(pair[0]), reverse=True)


def preference(info: DeviceInfo) -> tuple[Any, ...]:
    """Greater is better: GPUs, discrete ones first, then Intel's CPU driver, then newer PoCL."""
    return (
        ("other", "cpu", "accelerator", "gpu").index(info.type),
        not info.unified,
        "intel" in info.platform.lower() if info.type == "cpu" else False,
        pocl_version(info.version),
        info.compute_units,
    )


def _present() -> list[int]:
    """The driver's handle of each device, platform by platform."""
    try:
        found = c_uint()
        call("clGetPlatformIDs", 0, None, found)
        platforms = handles(*[0] * found.value)
        call("clGetPlatformIDs", len(platforms), platforms, None)
    except OpenCLError:
        # The loader's way to say that no driver is installed.
        return []
    return [device for platform in platforms for device in _devices(platform)]


def _devices(platform: int) -> list[int]:
    count = c_uint()
    # A driver whose hardware is absent says that it has not found a device.
    with suppress(OpenCLError):
        call("clGetDeviceIDs", platform, _DEVICE_TYPE_ALL, 0, None, count)
        devices = handles(*[0] * count.value)
        call("clGetDeviceIDs", platform, _DEVICE_TYPE_ALL, len(devices), devices, None)
        return list(devices)
    return []


def describe(device: int) -> DeviceInfo:
    """What a device says of itself (OpenCLError)."""
    platform = _number(device, _DEVICE_PLATFORM)
    types = _number(device, _DEVICE_TYPE)
    group_sizes = query("clGetDeviceInfo", device, _DEVICE_MAX_WORK_ITEM_SIZES)
    return DeviceInfo(
        name=_text("clGetDeviceInfo", device, _DEVICE_NAME),
        platform=_text("clGetPlatformInfo", platform, _PLATFORM_NAME),
        version=" ".join(_text("clGetPlatformInfo", platform, _PLATFORM_VERSION).split()),
        driver=_text("clGetDeviceInfo", device, _DRIVER_VERSION),
        type=next((name for bit, name in _TYPES.items() if types & bit), "other"),
        vendor=_text("clGetDeviceInfo", device, _DEVICE_VENDOR),
        vector_width=_number(device, _DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
        alignment=max(1, _number(device, _DEVICE_MEM_BASE_ADDR_ALIGN) // 8),
        max_group=_number(device, _DEVICE_MAX_WORK_GROUP_SIZE),
        max_group_sizes=tuple(
            int.from_bytes(group_sizes[place : place + _SIZE_BYTES], sys.byteorder)
            for place in range(0, len(group_sizes), _SIZE_BYTES)
        ),
        max_allocation=_number(device, _DEVICE_MAX_MEM_ALLOC_SIZE),
        local_memory=_number(device, _DEVICE_LOCAL_MEM_SIZE),
        compute_units=_number(device, _DEVICE_MAX_COMPUTE_UNITS),
        unified=bool(_number(device, _DEVICE_HOST_UNIFIED_MEMORY)),
        extensions=tuple(_text("clGetDeviceInfo", device, _DEVICE_EXTENSIONS).split()),
        image_texels=_image_texels(device),
    )


def _image_texels(device: int) -> int:
    """0 of a driver that has no images, or none of buffers, which came with OpenCL 1.2."""
    supported = _number_or_zero(device, _DEVICE_IMAGE_SUPPORT)
    return _number_or_zero(device, _DEVICE_IMAGE_MAX_BUFFER_SIZE) if supported else 0


def orders_atomics(device: int) -> bool:
    """Whether atomic counters can order what all work-groups of a launch read and write.

    OpenCL 3.0 makes it optional; earlier versions know no such question.
    """
    return _can(
        device, _DEVICE_ATOMIC_MEMORY_CAPABILITIES, _ATOMIC_ORDER_ACQ_REL | _ATOMIC_SCOPE_DEVICE
    )


def shares_memory(device: int) -> bool:
    """Whether there is memory that host and device may both touch without telling the driver."""
    return _can(device, _DEVICE_SVM_CAPABILITIES, _SVM_FINE_GRAIN_BUFFER)


def _can(device: int, name: int, wanted: int) -> bool:
    """Whether a device has capabilities that versions of OpenCL before 2.0 or 3.0 do not know."""
    return _number_or_zero(device, name) & wanted == wanted


def _number_or_zero(device: int, name: int) -> int:
    """What a driver may refuse to say, because its version of OpenCL does not know the question."""
    try:
        return _number(device, name)
    except OpenCLError:
        return 0


def _number(device: int, name: int) -> int:
    return int.from_bytes(query("clGetDeviceInfo", device, name), sys.byteorder)


def _text(function: str, item: int, name: int) -> str:
    return query(function, item, name).rstrip(b"\0").decode(errors="replace").strip()
