"""Device memory of inputs that host and device share."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    if not byte_size(infos[index]):
        raise InputError(f"input {name} has no memory on the device")
    array = _mapped(execution, index)
    if array is None:
        raise DeviceError(
            f"{execution.device.info} does not share the memory of input {name} with the host; "
            "bind an array or a buffer of the device"
        )
    return array


def is_mapped_input(execution: Execution, index: int, value: Any) -> bool:
    """Whether a value is what `mapped_input` returns for an input."""
    info = execution.plan.inputs[index]
    if not isinstance(value, np.ndarray) or not byte_size(info):
        return False
    array = _mapped(execution, index)
    return array is not None and (
        (value.ctypes.data, value.dtype, value.shape, value.strides)
        == (array.ctypes.data, array.dtype, array.shape, array.strides)
    )


def _mapped(execution: Execution, index: int) -> NDArray[Any] | None:
    info = execution.plan.inputs[index]
    buffer = execution.memory.buffers[Region.INPUT, index]
    array = execution.device.mapped(buffer, byte_size(info))
    return None if array is None else array.view(device_dtype(info.dtype)).reshape(info.shape)
