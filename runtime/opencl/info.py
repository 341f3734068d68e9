"""What an OpenCL device reports about itself."""

import struct
import sys

from ..launch.device import DeviceInfo
from ..plan.limits import LARGEST_ARGUMENTS, LARGEST_GRID
from ..plan.running import Limits
from .library import OpenCLError, query

# As in OpenCL's headers, without the prefix CL_.
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
_SVM_COARSE_GRAIN_BUFFER, _SVM_FINE_GRAIN_BUFFER = 1, 2
_DEVICE_ATOMIC_MEMORY_CAPABILITIES = 0x1063
_ATOMIC_ORDER_ACQ_REL, _ATOMIC_SCOPE_DEVICE = 2, 32

# The platform whose images of a part of a buffer begin where the buffer does, as of Mesa 25.0.
IMAGES_FROM_THE_START = "rusticl"

# The bits of CL_DEVICE_TYPE; the first one that is set counts.
_TYPES = {4: "gpu", 8: "accelerator", 2: "cpu"}


def describe(device: int) -> DeviceInfo:
    """A device, given as the driver's handle (OpenCLError)."""
    platform = device_platform(device)
    types = _number(device, _DEVICE_TYPE)
    type = next((name for bit, name in _TYPES.items() if types & bit), "other")
    platform_name = _text("clGetPlatformInfo", platform, _PLATFORM_NAME)
    return DeviceInfo(
        name=_text("clGetDeviceInfo", device, _DEVICE_NAME),
        platform=platform_name,
        version=" ".join(_text("clGetPlatformInfo", platform, _PLATFORM_VERSION).split()),
        driver=_text("clGetDeviceInfo", device, _DRIVER_VERSION),
        type=type,
        vendor=_text("clGetDeviceInfo", device, _DEVICE_VENDOR),
        vector_width=_number(device, _DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
        limits=_limits(device, platform_name),
        compute_units=_number(device, _DEVICE_MAX_COMPUTE_UNITS),
        unified=bool(_number(device, _DEVICE_HOST_UNIFIED_MEMORY)),
    )


def _limits(device: int, platform: str) -> Limits:
    sizes = query("clGetDeviceInfo", device, _DEVICE_MAX_WORK_ITEM_SIZES)
    x, y, z = struct.unpack_from("3N", sizes.ljust(struct.calcsize("3N"), b"\0"))
    most = _number(device, _DEVICE_MAX_MEM_ALLOC_SIZE)
    return Limits(
        max(1, _number(device, _DEVICE_MEM_BASE_ADDR_ALIGN) // 8),
        _number(device, _DEVICE_MAX_WORK_GROUP_SIZE),
        (x, y, z),
        (LARGEST_GRID,) * 3,
        _number(device, _DEVICE_LOCAL_MEM_SIZE),
        LARGEST_ARGUMENTS,
        most,
        most,
        0 if platform == IMAGES_FROM_THE_START else _image_texels(device),
        tuple(_text("clGetDeviceInfo", device, _DEVICE_EXTENSIONS).split()),
    )


def device_platform(device: int) -> int:
    """The driver's handle of a device's platform (OpenCLError)."""
    return _number(device, _DEVICE_PLATFORM)


def _image_texels(device: int) -> int:
    """0 for a driver without images, or without images of buffers, which OpenCL 1.2 introduced."""
    supported = _number_or_zero(device, _DEVICE_IMAGE_SUPPORT)
    return _number_or_zero(device, _DEVICE_IMAGE_MAX_BUFFER_SIZE) if supported else 0


def orders_atomics(device: int) -> bool:
    """Whether atomics can order the memory accesses of all work-groups of a launch.

    Optional in OpenCL 3.0; earlier versions do not have the query.
    """
    return _has(
        device, _DEVICE_ATOMIC_MEMORY_CAPABILITIES, _ATOMIC_ORDER_ACQ_REL | _ATOMIC_SCOPE_DEVICE
    )


def shares_memory(device: int) -> bool:
    """Whether host and device share memory without telling the driver: fine-grained SVM."""
    return _has(device, _DEVICE_SVM_CAPABILITIES, _SVM_FINE_GRAIN_BUFFER)


def shares_addresses(device: int) -> bool:
    """Whether kernels take addresses of memory that the host allocates: coarse-grained SVM."""
    return _has(device, _DEVICE_SVM_CAPABILITIES, _SVM_COARSE_GRAIN_BUFFER)


def _has(device: int, name: int, capabilities: int) -> bool:
    return _number_or_zero(device, name) & capabilities == capabilities


def _number_or_zero(device: int, name: int) -> int:
    """The answer to a query that the driver may not know."""
    try:
        return _number(device, name)
    except OpenCLError:
        return 0


def _number(device: int, name: int) -> int:
    return int.from_bytes(query("clGetDeviceInfo", device, name), sys.byteorder)


def _text(function: str, item: int, name: int) -> str:
    return query(function, item, name).rstrip(b"\0").decode(errors="replace").strip()
