"""A loaded model: what an application runs, from any of its threads."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from .errors import DeviceError, InputError
from .execution import Execution, PartTime
from .inputs import arrays_for
from .launch.device import Device, DeviceInfo
from .plan.records import PlacedTensor, Plan, Region, TensorInfo
from .store.variant import Variant

Array = NDArray[Any]


class Session:
    """A model ready to run. Made by `tflgpu.load`; usable from several threads, one at a time.

    Closing it, or leaving its `with` block, gives all memory of the device back.
    """

    def __init__(self, variant: Variant, device: Device, store_binaries: bool = False) -> None:
        """Puts the variant on the device, which the session then owns.

        With `store_binaries`, kernels that had to be compiled are stored beside the plan; a
        CacheWarning says so if they cannot be. PlanError if the device cannot run the variant,
        DeviceError if the driver refuses something, or parts of the model run on LiteRT and it is
        not installed.
        """
        self.plan: Plan = variant.plan
        self._lock = threading.Lock()
        self._ran = False
        self._execution: Execution | None = Execution(variant, device, store_binaries)

    # -- running ----------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What the model takes, in its order."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """What the model gives, in its order."""
        return self.plan.outputs

    @property
    def device(self) -> DeviceInfo:
        """The device the model runs on (DeviceError if the session is closed)."""
        return self._opened().device.info

    def run(self, inputs: Any = ()) -> dict[str, Array]:
        """Run the model; its outputs by name, in its order, as arrays of the caller's own.

        `inputs` is a mapping by name, a sequence by position, or one array. Arrays may be of any
        layout; their types must be the model's, or be safe to convert to it. InputError names all
        inputs that do not fit, DeviceError is the driver's or says that the session is closed.
        """
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            results = self._opened().run(arrays)
            self._ran = True
        return {
            info.name: result if info.dtype == "string" else result.astype(info.dtype, copy=False)
            for info, result in zip(self.plan.outputs, results, strict=True)
        }

    def profile(self, inputs: Any = ()) -> list[tuple[int, float]]:
        """Run the model dispatch by dispatch; (index of the dispatch, seconds on the device).

        Where runs launch persistent kernels, the first call compiles the dispatches' own ones,
        whose sources it reads from the plan's folder (PlanError, BuildError).
        """
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            times = self._opened().profile(arrays)
            self._ran = True
        return list(enumerate(times))

    def profile_parts(self, inputs: Any = ()) -> list[PartTime]:
        """Run the model; what each of `plan.parts` took."""
        arrays = arrays_for(self.plan.inputs, inputs)
        with self._lock:
            times = self._opened().profile_parts(arrays)
            self._ran = True
        return times

    def reset(self) -> None:
        """Let the model forget: what it keeps between runs is as it was before the first.

        DeviceError if the session is closed. Does nothing for a model that keeps nothing.
        """
        with self._lock:
            self._opened().forget()

    # -- looking inside ---------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """The content of a tensor after the last run, in the shape the model gives it.

        Every tensor can be read of a plan that was compiled with `keep_intermediates`; of others,
        a tensor whose memory another one has taken over since shows that one's content.
        InputError if there is no such tensor or nothing has run yet.
        """
        tensor = self._tensor(name)
        with self._lock:
            execution = self._opened()
            if not self._ran:
                raise InputError(f"{name} has no content before the first run")
            return execution.memory.read(tensor)

    def _tensor(self, name: str) -> PlacedTensor:
        for tensor in self.plan.tensors:
            if tensor.name == name:
                return tensor
        from difflib import get_close_matches

        near = get_close_matches(name, [tensor.name for tensor in self.plan.tensors], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(f"the plan has no tensor {name!r} in memory{hint}")

    def poison(self, byte: int = 0xFF) -> None:
        """Fill the arena and the outputs with a value; 0xFF makes floats NaN.

        For tests that must see whether a kernel writes all it has to before anything reads it.
        """
        with self._lock:
            execution = self._opened()
            execution.memory.fill((Region.ARENA, Region.OUTPUT), byte)
            execution.device.finish()

    # -- the end ----------------------------------------------------------------------------

    def _opened(self) -> Execution:
        if self._execution is None:
            raise DeviceError("the session is closed; load the model again")
        return self._execution

    def close(self) -> None:
        """Give all memory of the device back; closing twice does no harm."""
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
