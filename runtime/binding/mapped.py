"""Device memory of inputs that host and device share."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..errors import DeviceError, InputError
from ..execution import Execution
from ..plan.records import Region
from ..plan.storage import byte_size, device_dtype


def mapped_input(execution: Execution, name: str) -> NDArray[Any]:
    """As `Session.map_input`, inside a `with` block of the execution."""
    infos = execution.plan.inputs
    index = next((i for i, info in enumerate(infos) if info.name == name), None)
    if index is None:
        names = ", ".join(info.name for info in infos) or "none"
        raise InputError(f"{name} is not an input of the model, which has {names}")
    info, size = infos[index], byte_size(infos[index])
    if not size:
        raise InputError(f"input {name} of {info.dtype}{list(info.shape)} has no device memory")
    device = execution.device
    array = device.mapped(execution.memory.buffers[Region.INPUT, index], size)
    if array is None:
        raise DeviceError(
            f"{device.info} does not share the memory of input {name} with the host; bind an array "
            "or a buffer of the device"
        )
    return array.view(device_dtype(info.dtype)).reshape(info.shape)
