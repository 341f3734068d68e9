"""What the caller gives for inputs and outputs: which value for which, and arrays of the host."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from ..errors import DeviceError, InputError
from ..execution.execution import Execution
from ..launch.memory import Array
from ..plan.records import Region, TensorInfo
from ..plan.storage import byte_size, device_dtype

_Fitted = TypeVar("_Fitted")


def fitted(
    kind: str,
    infos: Sequence[TensorInfo],
    given: Mapping[str, Any],
    fit: Callable[[int, Any], _Fitted],
) -> dict[int, _Fitted]:
    """The result of `fit` for each value, by the index of its tensor.

    `kind` is input or output. `fit` takes a tensor's index and its value, and raises InputError if
    the value does not fit. The InputError raised here names all that do not, and all names that the
    model does not have.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"the {kind}s are given as {type(given).__name__}; give a mapping of their names to "
            "what is bound to them"
        )
    indices = {info.name: index for index, info in enumerate(infos)}
    found, problems = {}, []
    for name, value in given.items():
        if name not in indices:
            names = ", ".join(indices) or "none"
            problems.append(f"{name} is not an {kind} of the model, which has {names}")
            continue
        try:
            found[indices[name]] = fit(indices[name], value)
        except InputError as error:
            problems.append(f"{kind} {name}: {error}")
    if problems:
        lines = "".join(f"\n  {line}" for line in problems)
        raise InputError(f"the {kind}s cannot be bound:{lines}")
    return found


_ON_HOST = 1  # DLPack's kDLCPU.


def host_array(info: TensorInfo, value: Any, writes: bool) -> Array:
    """The caller's memory as an array of the tensor's shape and dtype, without a copy.

    `value` is a numpy array or any object with the buffer protocol or DLPack. It must have the
    tensor's dtype and shape, or be plain bytes (bytearray, mmap) of exactly the tensor's size.
    `writes` says that runs write to it. InputError says what does not fit, and what would.
    """
    form = f"{info.dtype} of shape {list(info.shape)}"
    check_bindable(info)
    array = _viewed(value)
    if array is None:
        raise InputError(
            f"expected {form}, got {type(value).__name__}; bind a numpy array, an object with the "
            "buffer protocol or DLPack, or a buffer of pyopencl, moderngl or wgpu"
        )
    dtype = np.dtype(info.dtype)
    size = prod(info.shape) * dtype.itemsize
    if not isinstance(value, np.ndarray) and array.dtype == np.uint8 and array.ndim == 1:
        if array.nbytes != size:
            raise InputError(f"expected {form}, which is {size} bytes, got {array.nbytes} bytes")
        array = array.view(dtype).reshape(info.shape)
    if array.dtype != dtype or array.shape != info.shape:
        raise InputError(f"expected {form}, got {array.dtype} of shape {list(array.shape)}")
    if writes and not array.flags.writeable:
        raise InputError(f"expected an array of {form} that can be written, got a read-only one")
    return array


def check_bindable(*infos: TensorInfo) -> None:
    """InputError for a tensor without an array of a fixed size."""
    for info in infos:
        if info.dtype == "string" or info.dynamic:
            what = "strings" if info.dtype == "string" else "a shape that only a run determines"
            raise InputError(f"{info.name} has {what}, and cannot be bound; use Session.run")


def _viewed(value: Any) -> Array | None:
    """The memory of an object as an array; None if it is not on the host, or has none."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError):
        pass
    try:
        on_host = hasattr(value, "__dlpack__") and value.__dlpack_device__()[0] == _ON_HOST
        return np.from_dlpack(value) if on_host else None
    except Exception:  # libraries raise what they like
        return None


def mapped_input(execution: Execution, name: str) -> Array:
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


def _mapped(execution: Execution, index: int) -> Array | None:
    info = execution.plan.inputs[index]
    buffer = execution.memory.buffers[Region.INPUT, index]
    array = execution.device.mapped(buffer, byte_size(info))
    return None if array is None else array.view(device_dtype(info.dtype)).reshape(info.shape)
