"""Checks the inputs of `Session.run` and converts them to what the model and the device expect."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np

from ..errors import InputError
from ..launch.callers_memory import callers_memory
from ..launch.memory import Array
from ..plan.records import HostTensor, TensorInfo
from ..plan.storage import device_dtype

# What to do about bytes for an input of floats, of which only the caller knows the scale.
PIXELS = (
    'if these are pixels, scale them as the model was trained: (x.astype("float32") - mean) / std, '
    "`tflgpu run` with --mean and --std, or compile(inputs={name: "
    '"rgb8, mean=127.5, std=127.5"}) for a model that takes bytes; if not: x.astype("float32")'
)

_MOST_AXES = 6  # Of more, no order is looked for.


def arrays_for(infos: Sequence[TensorInfo], inputs: Any) -> list[Array]:
    """A contiguous array of the right shape and dtype for each input, in the model's order.

    `inputs` is a mapping by name, a sequence by position, or a single array for a model with one
    input. InputError that names all inputs that do not fit.
    """
    given = by_name(infos, inputs)
    problems = list(_names(infos, given)) if given is inputs else []
    arrays = []
    for info in infos:
        if info.name in given:
            try:
                arrays.append(_converted(info, given[info.name]))
            except InputError as error:
                problems.append(f"{info.name}: {error}")
    if problems:
        raise InputError(
            "the inputs do not match the model:" + "".join(f"\n  {line}" for line in problems)
        )
    return arrays


def quantized(infos: Sequence[TensorInfo], inputs: Any) -> Any:
    """The inputs with the integers of real numbers that are given for quantized ones.

    Rounded to the nearest even integer as the model's own QUANTIZE would, and cut off at the limits
    of the type; what is no array of floats stays as it is. InputError as of `arrays_for`.
    """
    given = by_name(infos, inputs)
    scaled = {info.name: info for info in infos if info.scale}
    return {
        name: _integers(scaled[name], value) if name in scaled else value
        for name, value in given.items()
    }


def _integers(info: TensorInfo, value: Any) -> Any:
    """Real numbers as the integers that stand for them (InputError for NaN)."""
    array = _array(info, value)
    if array.dtype.kind != "f":
        return value
    if np.isnan(array).any():
        raise InputError(f"{info.name}: NaN cannot be quantized")
    limits = np.iinfo(info.dtype)
    scaled = array.astype(np.float32) * (np.float32(1) / np.float32(info.scale))
    moved = np.rint(np.clip(scaled, -(2.0**30), 2.0**30)).astype(np.int64) + info.zero_point
    return np.clip(moved, limits.min, limits.max).astype(info.dtype)


def device_arrays(infos: Sequence[TensorInfo | HostTensor], arrays: Sequence[Array]) -> list[Array]:
    """The arrays in the device's dtypes. InputError if an integer does not fit in 32 bits."""
    converted = []
    for info, array in zip(infos, arrays, strict=True):
        check_range(info, array)
        converted.append(array.astype(device_dtype(info.dtype), copy=False))
    return converted


def check_range(info: TensorInfo | HostTensor, array: Array) -> None:
    """InputError if an integer does not fit in 32 bits, as integers have on the device."""
    if info.dtype == "int64" and array.size:
        limits = np.iinfo(np.int32)
        if array.min() < limits.min or array.max() > limits.max:
            raise InputError(
                f"{info.name} has values from {array.min()} to {array.max()}, but integers on "
                f"the device have 32 bits and range from {limits.min} to {limits.max}"
            )


def by_name(infos: Sequence[TensorInfo], inputs: Any) -> Mapping[str, Any]:
    """The inputs by name (InputError if a sequence has another length than `infos`)."""
    if isinstance(inputs, Mapping):
        return inputs
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if len(values) != len(infos):
        advice = ""
        if len(infos) == 1:
            advice = "; a list is taken as several inputs, so pass an array, or a list of one array"
        raise InputError(
            f"{_count(len(values))} given, but the model has {_count(len(infos))}: "
            f"{', '.join(f'{info.name} ({_form(info)})' for info in infos) or 'none'}{advice}"
        )
    return {info.name: value for info, value in zip(infos, values, strict=True)}


def _count(number: int) -> str:
    return f"{number} input{'s' * (number != 1)}"


def _names(infos: Sequence[TensorInfo], given: Mapping[str, Any]) -> Iterator[str]:
    expected = {info.name for info in infos}
    for info in infos:
        if info.name not in given:
            yield f"{info.name} is missing; expected {_form(info)}"
    for name in given:
        if name not in expected:
            yield f"{name} is not an input of the model, which has {', '.join(sorted(expected))}"


def _form(info: TensorInfo) -> str:
    return f"{info.dtype} of shape {list(info.shape)}"


def _converted(info: TensorInfo, value: Any) -> Array:
    """A contiguous array in native byte order (InputError)."""
    # Most arrays need no conversion, and the device waits meanwhile.
    if _is_ready(info, value):
        ready: Array = value
        return ready
    memory = callers_memory(value)
    if memory is not None:
        raise InputError(f"a {memory.kind} is memory of a device; bind it with Session.bind")
    array = _array(info, value)
    form = f"expected {_form(info)}, got {array.dtype} of shape {list(array.shape)}"
    # Python's numbers have no dtype to be strict about; only their values must fit.
    typed = isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")
    if info.dtype == "string":
        return _texts(info, array, form)
    dtype = np.dtype(info.dtype)
    fits = array.size == 0 or np.can_cast(array.dtype, dtype, "safe" if typed else "same_kind")
    fits = fits and not (typed and array.dtype == np.uint8 and dtype.kind == "f")
    if not fits or array.shape != info.shape:
        kind = array.dtype if not fits else dtype
        raise InputError("; ".join([form, *advice(info, kind, array.shape)]))
    with np.errstate(over="ignore"):
        result = np.asarray(array, dtype, order="C")
    if dtype.kind in "iu" and not typed and not np.array_equal(result, array):
        raise InputError(f"expected {_form(info)}, got a value that {info.dtype} cannot hold")
    return result


def _array(info: TensorInfo, value: Any) -> Array:
    """A value as numpy understands it (InputError)."""
    try:
        return np.asarray(value)
    except Exception as error:  # Of any kind, from the library that the value is of.
        listed = isinstance(value, (list, tuple))
        kind = "a ragged list" if listed else f"{type(value).__name__}: {error}"
        raise InputError(f"expected {_form(info)}, got {kind}") from error


def _is_ready(info: TensorInfo, value: Any) -> bool:
    """Whether a value is an array that needs no conversion."""
    return (
        type(value) is np.ndarray
        and value.shape == info.shape
        and value.flags.c_contiguous
        and info.dtype != "string"
        and value.dtype == np.dtype(info.dtype)
    )


def _texts(info: TensorInfo, array: Array, form: str) -> Array:
    """Strings as `bytes` objects, text in UTF-8."""
    if array.shape != info.shape:
        raise InputError("; ".join([form, *advice(info, array.dtype, array.shape)]))
    result = np.empty(array.shape, object)
    for place, value in np.ndenumerate(array):
        if not isinstance(value, (str, bytes)):
            raise InputError(f"expected {_form(info)}, got {type(value).__name__}")
        result[place] = value.encode() if isinstance(value, str) else value
    return result


def advice(info: TensorInfo, dtype: np.dtype[Any], shape: Sequence[int]) -> Iterator[str]:
    """What to do about an array `x` of another type or shape, as far as that is known."""
    if dtype == np.uint8 and info.dtype.startswith("float"):
        yield PIXELS
    elif dtype.kind in "biufc" and dtype.name != info.dtype != "string":
        yield f'convert it: x.astype("{info.dtype}")'
    call = reordering(shape, info.shape) if tuple(shape) != info.shape else None
    if call is not None:
        yield f"arrange its axes: {call}"


def reordering(given: Sequence[int], wanted: Sequence[int]) -> str | None:
    """What makes an array `x` of one shape fit another one, its axes reordered or those of 1 moved.

    Of several orders, the one that leaves most axes as they are, such as NHWC for NCHW. None if
    there is no such, or no single best one: an array reshaped at will would hold other pixels.
    """
    shape = f"reshape({list(wanted)})"
    long, needed = ([size for size in sizes if size != 1] for sizes in (given, wanted))
    if long == needed:
        return f"x.{shape}"
    if sorted(long) != sorted(needed) or len(long) > _MOST_AXES:
        return None
    order = _order(given, wanted) if len(given) == len(wanted) else None
    if order is not None:
        return f"x.transpose{order}"
    order = _order(long, needed)
    return None if order is None else f"x.squeeze().transpose{order}.{shape}"


def _order(given: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """The permutation of axes with the fewest pairs in another order, if there is a single one."""
    fitting = [
        (sum(a > b for a, b in combinations(order, 2)), order)
        for order in permutations(range(len(given)))
        if [given[axis] for axis in order] == list(wanted)
    ]
    best = min(fitting, default=(0, ()))[0]
    orders = [order for swapped, order in fitting if swapped == best]
    return orders[0] if len(orders) == 1 else None
