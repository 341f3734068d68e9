"""Finding WebGPU's adapters, and opening one by its name."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from ..errors import DeviceError
from ..launch.callers_memory import CallersContext
from ..launch.device import DeviceInfo, Unusable, matching
from ..quiet import without_notices
from ..startup import DRIVER_PROCESS
from .device import WebGPUDevice
from .info import FEATURES, describe
from .library import driver_call, wgpu
from .timing import FEATURE as TIMESTAMPS
from .trials import ALL, known

# Those of wgpu that hold what kernels need; OpenGL has a runtime of its own.
BACKENDS = ("Vulkan", "Metal", "D3D12")
# The beginnings of the names of limits that kernels may need.
LIMITS = ("max-compute-", "max-storage-buffer", "max-buffer-", "min-storage-buffer-")
ADVICE = (
    "a driver for Vulkan, Metal or Direct3D 12 is needed; install one that runs on the CPU, on "
    "Debian and Ubuntu with: apt install mesa-vulkan-drivers libvulkan1"
)


def devices() -> list[DeviceInfo]:
    """The adapters present that work, best first (DeviceError)."""
    return [info for info, _ in _usable()]


def unusable() -> list[Unusable]:
    """The adapters that do not work (DeviceError)."""
    return [
        Unusable(name, "wgsl", reason, "update its driver")
        for name, _, reason in known().adapters
        if reason
    ]


def select_device(name: str = "auto") -> DeviceInfo:
    """The best adapter with `name` in its text, any for "auto" (DeviceError that lists all)."""
    return _select(name)[0]


def open_device(name: str = "auto") -> WebGPUDevice:
    """The device of the adapter that `select_device` returns (DeviceError)."""
    return opened(_select(name)[1])


def open_in(context: CallersContext, name: str = "auto") -> WebGPUDevice:
    """A device of the caller (DeviceError)."""
    device = context.owner
    info = describe(device.adapter)
    return matching(name, [(info, WebGPUDevice(info, device))], "WebGPU", "")[0][1]


def opened(adapter: Any) -> WebGPUDevice:
    """The adapter's device (DeviceError)."""
    info = describe(adapter)
    with driver_call(str(info), "opening the device"):
        try:
            return WebGPUDevice(info, _device(adapter))
        except DeviceError:  # it has been lost
            _device.cache_clear()
            return WebGPUDevice(info, _device(adapter))


@cache
def _device(adapter: Any) -> Any:
    """A device with all that the adapter has which kernels may need, for all models."""
    limits = {name: value for name, value in adapter.limits.items() if name.startswith(LIMITS)}
    features = [name for name in (*FEATURES, TIMESTAMPS) if name in adapter.features]
    return adapter.request_device_sync(required_features=features, required_limits=limits)


@cache
def present() -> list[tuple[DeviceInfo, Any]]:
    """The adapters, whether or not they work, best first (DeviceError)."""
    with ThreadPoolExecutor(1) as alone:
        found = alone.submit(_adapters).result()
    order = ("gpu", "cpu", "other")
    return sorted(found, key=lambda pair: (order.index(pair[0].type), pair[0].unified))


def _adapters() -> list[tuple[DeviceInfo, Any]]:
    """Those of `BACKENDS`, in wgpu's order (DeviceError).

    For a thread of its own: wgpu makes contexts of OpenGL, after which none is current any more on
    the thread, and it ends the process where one of GLX is.
    """
    with without_notices(), driver_call("WebGPU", "listing its adapters"):
        return [
            (describe(adapter), adapter)
            for adapter in wgpu.gpu.enumerate_adapters_sync()
            if adapter.info["backend_type"] in BACKENDS
        ]


def _usable() -> list[tuple[DeviceInfo, Any]]:
    DRIVER_PROCESS.start()
    broken = [(name, driver) for name, driver, reason in known().adapters if reason]
    found = [] if ALL in broken else present()
    return [pair for pair in found if (str(pair[0]), pair[0].driver) not in broken]


def _select(name: str) -> tuple[DeviceInfo, Any]:
    return matching(name, _usable(), "WebGPU", ADVICE, unusable())[0]
