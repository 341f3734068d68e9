"""What an application hands to `Session.run`, checked and brought into the model's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .plan.records import HostTensor, TensorInfo
from .plan.sizes import DEVICE_TYPES

Array = NDArray[Any]


def arrays_for(infos: Sequence[TensorInfo], inputs: Any) -> list[Array]:
    """One dense array of the right shape and type for each input, in the model's order.

    `inputs` is a mapping by name, a sequence by position, or a single array for a model with one
    input. InputError that names everything that does not fit, not just the first.
    """
    given = _by_name(infos, inputs)
    problems = list(_names(infos, given)) if given is inputs else []
    arrays = []
    for info in infos:
        if info.name in given:
            try:
                arrays.append(_converted(info, given[info.name]))
            except InputError as error:
                problems.append(f"{info.name}: {error}")
    if problems:
        raise InputError("the inputs do not fit:" + "".join(f"\n  {line}" for line in problems))
    return arrays


def device_arrays(infos: Sequence[TensorInfo | HostTensor], arrays: Sequence[Array]) -> list[Array]:
    """The arrays as the device has them (InputError that names an input beyond 32 bits)."""
    converted = []
    for info, array in zip(infos, arrays, strict=True):
        if info.dtype == "int64" and array.size:
            limits = np.iinfo(np.int32)
            if array.min() < limits.min or array.max() > limits.max:
                raise InputError(
                    f"{info.name} holds values from {array.min()} to {array.max()}; on the device "
                    f"integers have 32 bits, from {limits.min} to {limits.max}"
                )
        converted.append(array.astype(DEVICE_TYPES[info.dtype], copy=False))
    return converted


def _by_name(infos: Sequence[TensorInfo], inputs: Any) -> Mapping[str, Any]:
    if isinstance(inputs, Mapping):
        return inputs
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if len(values) != len(infos):
        wrapped = ""
        if len(infos) == 1:
            wrapped = "; a list is taken for a list of inputs, so pass an array or a list of one"
        raise InputError(
            f"{_count(len(values))} given, the model takes {_count(len(infos))}: "
            f"{', '.join(_expected(info) for info in infos) or 'none'}{wrapped}"
        )
    return {info.name: value for info, value in zip(infos, values, strict=True)}


def _count(number: int) -> str:
    return f"{number} input{'s' * (number != 1)}"


def _names(infos: Sequence[TensorInfo], given: Mapping[str, Any]) -> Iterator[str]:
    expected = {info.name for info in infos}
    for info in infos:
        if info.name not in given:
            yield f"{info.name} is missing: {_form(info)} is expected"
    for name in given:
        if name not in expected:
            yield f"{name} is no input of the model, which has {', '.join(sorted(expected))}"


def _expected(info: TensorInfo) -> str:
    return f"{info.name} ({_form(info)})"


def _form(info: TensorInfo) -> str:
    return f"{info.dtype} of shape {list(info.shape)}"


def _converted(info: TensorInfo, value: Any) -> Array:
    """A dense array in the byte order of the machine."""
    # Most are as they should be, and the device is idle until then.
    if _is_ready(info, value):
        ready: Array = value
        return ready
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{_form(info)} is expected, a ragged list is given") from error
    form = f"{_form(info)} is expected, {array.dtype} of shape {list(array.shape)} is given"
    # Python's own numbers have no type to be strict about: only their values have to fit.
    typed = isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")
    if info.dtype == "string":
        return _texts(info, array, form)
    dtype = np.dtype(info.dtype)
    if not np.can_cast(array.dtype, dtype, "safe" if typed else "same_kind") and array.size:
        advice = f'; convert it: x.astype("{info.dtype}")' if array.dtype.kind in "biufc" else ""
        raise InputError(f"{form}{advice}")
    _check_shape(info, array, form)
    with np.errstate(over="ignore"):
        result = np.asarray(array, dtype, order="C")
    if dtype.kind in "iu" and not typed and not np.array_equal(result, array):
        raise InputError(f"{_form(info)} is expected, a value is given that {info.dtype} lacks")
    return result


def _is_ready(info: TensorInfo, value: Any) -> bool:
    """Whether a value is an array that can be taken as it is."""
    return (
        type(value) is np.ndarray
        and value.shape == info.shape
        and value.flags.c_contiguous
        and info.dtype != "string"
        and value.dtype == np.dtype(info.dtype)
    )


def _texts(info: TensorInfo, array: Array, form: str) -> Array:
    """Strings as `bytes` objects, text in UTF-8."""
    _check_shape(info, array, form)
    result = np.empty(array.shape, object)
    for place, value in np.ndenumerate(array):
        if not isinstance(value, (str, bytes)):
            raise InputError(f"{_form(info)} is expected, {type(value).__name__} is given")
        result[place] = value.encode() if isinstance(value, str) else value
    return result


def _check_shape(info: TensorInfo, array: Array, form: str) -> None:
    if array.shape != info.shape:
        advice = ""
        if array.size == np.prod(info.shape, dtype=np.int64):
            advice = f"; give it this shape: x.reshape({list(info.shape)})"
        raise InputError(f"{form}{advice}")
