"""Operators that a function of the application computes, on arrays in host memory."""

import inspect
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import InputError, PlanError
from .launch.memory import Array
from .plan.operands import OPERANDS, OPTIONS, constant_name
from .plan.records import HostPart, Plan

# Takes a read-only array for each operand, None for one that is left out, and returns an array, or
# a sequence of them for several outputs. Options in the model file are passed as `options`, in
# bytes, if it has a parameter of that name.
CustomOp = Callable[..., Any]


class LoadedFunction:
    """A part of one operator, with the function that computes it."""

    def __init__(
        self, plan: Plan, record: HostPart, content: bytes, functions: Mapping[str, CustomOp]
    ) -> None:
        """PlanError if there is no function for the operator, or the part's file is invalid.

        InputError if `functions` is no mapping, or the operator's is no function.
        """
        self.record = record
        if not isinstance(functions, Mapping):
            raise InputError(f"custom_ops is {functions!r}, not a mapping of names to functions")
        if record.function not in functions:
            raise PlanError(
                f"{plan.model} needs a function for its operator {record.function}: "
                f"tflgpu.load(..., custom_ops={{{record.function!r}: function}})"
            )
        self._function = functions[record.function]
        self._outputs = [plan.host_tensors[index] for index in record.outputs]
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                self._operands: list[int] = arrays[OPERANDS].tolist()
                options = arrays[OPTIONS].tobytes()
                self._constants = {
                    position: arrays[constant_name(position)]
                    for position in range(len(self._operands))
                    if constant_name(position) in arrays
                }
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            raise PlanError(
                f"{record.file} is invalid ({error}); compile the model again"
            ) from error
        if not all(-1 <= place < len(record.inputs) for place in self._operands):
            raise PlanError(f"{record.file} has operands that it is not given")
        if not callable(self._function):
            raise InputError(
                f"custom_ops[{record.function!r}] is {self._function!r}, not a function"
            )
        self._keywords = {OPTIONS: options} if _takes_options(self._function) else {}

    def reset(self) -> None:
        """Does nothing: what the function remembers is its own."""

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs. InputError if they do not fit; what the function raises is passed on."""
        operands = [
            arrays[place] if place >= 0 else self._constants.get(position)
            for position, place in enumerate(self._operands)
        ]
        returned = self._function(*map(_read_only, operands), **self._keywords)
        results = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        if len(results) != len(self._outputs):
            raise InputError(
                f"the function for {self.record.function} returned {len(results)} arrays, but the "
                f"operator has {len(self._outputs)} outputs"
            )
        return [self._checked(position, result) for position, result in enumerate(results)]

    def _checked(self, position: int, result: Any) -> Array:
        tensor, array = self._outputs[position], np.asarray(result)
        dtype = np.dtype(object if tensor.dtype == "string" else tensor.dtype)
        fits = tensor.dynamic or array.shape == tensor.shape
        if not fits or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise InputError(
                f"the function for {self.record.function} returned {array.dtype} of shape "
                f"{list(array.shape)} for {tensor.name}, which is {tensor.dtype} of shape "
                f"{list(tensor.shape)}"
            )
        # The function may keep what it returns, or return its operands.
        converted = np.array(array, dtype, order="C")
        if dtype.kind in "iu" and not np.array_equal(converted, array):
            raise InputError(
                f"the function for {self.record.function} returned integers for {tensor.name} "
                f"that do not fit in {tensor.dtype}"
            )
        return converted


def _read_only(operand: Array | None) -> Array | None:
    """An operand as a function gets it: it may be the caller's own array, or needed again."""
    if operand is None:
        return None
    view = operand.view()
    view.flags.writeable = False
    return view


def _takes_options(function: CustomOp) -> bool:
    try:
        return OPTIONS in inspect.signature(function).parameters
    except ValueError:  # functions in C may not tell
        return False
