"""The parts of a plan that run on the host, and what they and kernels exchange during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..cache.variant import Variant
from ..frozen import dataclass
from ..launch.commands import Buffers
from ..launch.device import Device
from ..launch.memory import Array
from ..plan.records import Plan, TensorInfo
from ..plan.storage import device_dtype
from .inputs import device_arrays

if TYPE_CHECKING:
    from ..custom_op import CustomOp, LoadedFunction
    from ..litert.part import LoadedPart

    HostRun: TypeAlias = LoadedPart | LoadedFunction


def load_parts(variant: Variant, functions: Mapping[str, CustomOp]) -> list[HostRun]:
    """The parts of a plan, in the order in which they run.

    `functions` are the application's, by the name of the operator that each computes. DeviceError
    if LiteRT is needed but not installed, PlanError if it rejects a part or a function is missing.
    """
    plan = variant.plan
    if not plan.parts:
        return []
    # Few models have parts.
    from ..custom_op import LoadedFunction
    from ..litert.part import LoadedPart, litert_of

    if any(not record.function for record in plan.parts):
        on_litert = partial(LoadedPart, litert=litert_of(plan))
    return [
        LoadedFunction(plan, record, variant.parts[record.file], functions)
        if record.function
        else on_litert(plan, record, variant.parts[record.file])
        for record in plan.parts
    ]


@dataclass(frozen=True)
class PartTime:
    """The wall-clock seconds of a part on the host."""

    copy_in: float
    run: float
    copy_out: float


class Exchange:
    def __init__(
        self, plan: Plan, device: Device, buffers: Buffers, inputs: Sequence[Array | None]
    ) -> None:
        """`inputs` are the model's, None for those that are on the device only."""
        self._tensors, self._device, self._buffers = plan.host_tensors, device, buffers
        given = {i: inputs[t.input] for i, t in enumerate(self._tensors) if t.input >= 0}
        # By index in `plan.host_tensors`.
        self.values = {i: array for i, array in given.items() if array is not None}

    def run(self, part: HostRun, times: list[PartTime] | None) -> None:
        """Run a part on what was enqueued before, and copy its outputs to the device.

        `times` receives its time, for which the device must finish.
        """
        if times is not None:
            self._device.finish()
        start = perf_counter()
        self._copy_in(part)
        copied = perf_counter()
        results = part.run([self.values[index] for index in part.record.inputs])
        ran = perf_counter()
        self.values.update(zip(part.record.outputs, results, strict=True))
        self._copy_out(part)
        if times is not None:
            times.append(PartTime(copied - start, ran - copied, perf_counter() - ran))

    def _copy_in(self, part: HostRun) -> None:
        """Copy from the device the inputs of a part that are not on the host yet."""
        missing = [index for index in dict.fromkeys(part.record.inputs) if index not in self.values]
        for index in missing:
            tensor = self._tensors[index]
            assert tensor.place is not None
            array = np.empty(tensor.shape, device_dtype(tensor.dtype))
            buffer = self._buffers[tensor.place.region, tensor.place.index]
            self._device.download(buffer, array, tensor.place.offset)
            self.values[index] = array
        if missing:
            self._device.finish()
        for index in missing:
            array = self.values[index]
            self.values[index] = array.astype(self._tensors[index].dtype, copy=False)

    def _copy_out(self, part: HostRun) -> None:
        written = [(self._tensors[index], self.values[index]) for index in part.record.outputs]
        placed = [(tensor, array) for tensor, array in written if tensor.place is not None]
        arrays = device_arrays([tensor for tensor, _ in placed], [array for _, array in placed])
        for (tensor, _), array in zip(placed, arrays, strict=True):
            assert tensor.place is not None
            buffer = self._buffers[tensor.place.region, tensor.place.index]
            self._device.upload(buffer, array, tensor.place.offset)
        if arrays:
            self._device.finish()  # the arrays must live until then


def as_declared(info: TensorInfo, result: Array) -> Array:
    """An output as the device or a part computes it, in its own dtype."""
    return result if info.dtype == "string" else result.astype(info.dtype, copy=False)
