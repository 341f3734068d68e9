"""A loaded model, which an application runs from any of its threads."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from .custom_op import CustomOp
from .errors import DeviceError, InputError
from .execution import Execution, PartTime
from .inputs import arrays_for, quantized
from .launch.device import Device, DeviceInfo
from .plan.records import PlacedTensor, Plan, Region, TensorInfo
from .store.variant import Variant

Array = NDArray[Any]


class Session:
    """A model that is ready to run, as `tflgpu.load` returns it.

    >>> with tflgpu.load("cache") as session:
    ...     outputs = session.run({"image": image})

    Any thread may use it; calls from several threads run one after the other. `close`, or leaving
    the `with` block, frees the device's memory.
    """

    def __init__(
        self,
        variant: Variant,
        device: Device,
        store_binaries: bool = False,
        custom_ops: Mapping[str, CustomOp] | None = None,
    ) -> None:
        """Load a variant onto a device, which the session then owns. Applications call `load`.

        With `store_binaries`, compiled kernels are stored beside the plan; a CacheWarning says if
        they could not be. PlanError if the device cannot run the plan or files are damaged,
        DeviceError if a driver call fails or LiteRT is needed but not installed, BuildError if the
        driver rejects a kernel.
        """
        self.plan: Plan = variant.plan
        """The compiled model."""
        self._lock = threading.Lock()
        self._ran = False
        self._execution: Execution | None = Execution(
            variant, device, store_binaries, custom_ops or {}
        )

    # -- running ----------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each input, in the model's order."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each output, in the model's order."""
        return self.plan.outputs

    @property
    def device(self) -> DeviceInfo:
        """The device that the model runs on. DeviceError if the session is closed."""
        return self._opened().device.info

    def run(
        self, inputs: Any = (), quantize: bool = False, check: bool = False
    ) -> dict[str, Array]:
        """Run the model and return its outputs by name, in the model's order.

        `inputs` is a mapping of names to arrays, a list or tuple of arrays in the model's order, or
        a single array for a model with one input; a model without inputs needs none. Each array
        must have the shape of its `TensorInfo`, and its dtype or one that numpy converts safely,
        such as float16 to float32. Numbers and nested lists work as well if their values fit, and
        arrays need not be contiguous. Quantized inputs take integers or, with `quantize`, arrays of
        real numbers as well, which are rounded to integers by the scale and the zero point of their
        `TensorInfo`. Strings are `str` or `bytes` objects. The device computes with 32-bit
        integers, so the values of int64 inputs must fit in them.

        The outputs are new arrays with the shape and dtype of their `TensorInfo`, except that
        dynamic outputs have the shape that the run determined. Quantized outputs are not
        dequantized, and strings are `bytes` objects.

        Kernels clamp indices that are out of bounds, such as those of GATHER, where LiteRT reports
        an error. With `check`, such an index is an InputError that names the operator, the tensor
        and the index. The run then waits for the device before each operator with indices, and its
        dispatches are launched one by one; the first such run may compile kernels, as `profile`
        does.

        InputError names all inputs that do not fit. DeviceError if a driver call fails or the
        session is closed.
        """
        if quantize:
            inputs = quantized(self.plan.inputs, inputs)
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            execution = self._opened()
            results = execution.run_checked(arrays) if check else execution.run(arrays)
            self._ran = True
        return {
            info.name: result if info.dtype == "string" else result.astype(info.dtype, copy=False)
            for info, result in zip(self.plan.outputs, results, strict=True)
        }

    def profile(self, inputs: Any = ()) -> list[tuple[int, float]]:
        """Run the model one dispatch at a time, and time each on the device.

        Returns pairs of an index into `plan.dispatches` and seconds: device time on OpenCL, and
        wall-clock time from launch to completion on OpenGL. `inputs` and errors are those of `run`.

        On devices that run persistent kernels, the first call compiles the kernels of the
        dispatches, from the sources in the plan's folder (PlanError, BuildError).
        """
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            times = self._opened().profile(arrays)
            self._ran = True
        return list(enumerate(times))

    def profile_parts(self, inputs: Any = ()) -> list[PartTime]:
        """Run the model, and time each of `plan.parts`, in wall-clock seconds.

        `inputs` and errors are those of `run`.
        """
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            times = self._opened().profile_parts(arrays)
            self._ran = True
        return times

    def reset(self) -> None:
        """Reset the model's variables to their initial content, as before the first run.

        Does nothing for a model without variables. DeviceError if the session is closed.
        """
        with self._lock:
            self._opened().reset()

    # -- debugging --------------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """The content of a tensor after the last run, as an array of its shape and dtype.

        Intermediate tensors share memory: unless the model was compiled with
        `keep_intermediates`, the content may be that of another tensor that was written later.
        InputError if the plan has no such tensor, or before the first run.
        """
        tensor = self._tensor(name)
        with self._lock:
            execution = self._opened()
            if not self._ran:
                raise InputError(f"tensor {name} has no content before the first run")
            return execution.memory.read(tensor)

    def _tensor(self, name: str) -> PlacedTensor:
        for tensor in self.plan.tensors:
            if tensor.name == name:
                return tensor
        from difflib import get_close_matches

        near = get_close_matches(name, [tensor.name for tensor in self.plan.tensors], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"the plan has no tensor {name!r} in device memory{hint}")

    def poison(self, byte: int = 0xFF) -> None:
        """Fill the arena and the outputs with one byte value; 0xFF turns floats into NaN.

        For tests of whether kernels write everything that is read later.
        """
        with self._lock:
            execution = self._opened()
            execution.memory.fill((Region.ARENA, Region.OUTPUT), byte)
            execution.device.finish()

    # -- closing ----------------------------------------------------------------------------

    def _opened(self) -> Execution:
        if self._execution is None:
            raise DeviceError("the session is closed; load the model again")
        return self._execution

    def close(self) -> None:
        """Free the device's memory. Closing a session again does nothing."""
        with self._lock:
            execution, self._execution = self._execution, None
            if execution is not None:
                execution.device.release()

    def __enter__(self) -> Session:
        self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
