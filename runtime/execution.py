"""Running a variant on a device: its commands and parts, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .custom_op import CustomOp
from .errors import CacheWarning, DeviceError, PlanError
from .indices import CheckedQueue
from .inputs import device_arrays
from .launch.commands import Commands, compile_commands, restore_commands
from .launch.device import Command, Device
from .launch.memory import DeviceMemory
from .parts import HostRun, load_parts
from .plan.records import Plan, Region
from .plan.running import Schedule
from .plan.storage import device_dtype
from .store.binaries import read_binary, write_binary
from .store.variant import Variant, read_sources

Array = NDArray[Any]


@dataclass(frozen=True)
class PartTime:
    """The wall-clock seconds of a part on the host."""

    copy_in: float
    """Copying its inputs from the device."""
    run: float
    copy_out: float
    """Copying its outputs to the device."""


class Execution:
    """A variant on a device, for use by one thread at a time. The creator releases the device."""

    def __init__(
        self,
        variant: Variant,
        device: Device,
        store_binaries: bool,
        custom_ops: Mapping[str, CustomOp],
    ) -> None:
        """Load the variant onto the device, which is released if that fails.

        Raises as `Session` does.
        """
        self.device = device
        self._plan: Plan = variant.plan
        self._folder = variant.folder
        self._dispatch_commands: Commands | None = None
        """A command for each dispatch, once `profile` has been called."""
        buffers = variant.plan.input_buffers
        self._uploaded = [index for index, buffer in enumerate(buffers) if buffer.used]
        try:
            reason = device.unsupported_reason(self._plan)
            if reason is not None:
                raise PlanError(
                    f"{variant.folder} cannot run on {device.info}: {reason}; compile the model "
                    f"for this device: tflgpu-compile --target {device.info.target} "
                    f"--device '{device.info.name}'"
                )
            self._parts = load_parts(variant, custom_ops)
            self.memory = DeviceMemory(self._plan, device, variant.weights.content)
            schedule = self._plan.schedule(device.resident_groups)
            restored = self._restore(schedule)
            self._commands = restored or compile_commands(
                self._plan, schedule, device, self.memory.buffers, variant.sources
            )
            # Nothing may run before the weights have been checked.
            variant.weights.check(self._plan)
            if restored is None and store_binaries and device.has_binaries:
                self._store_binary()
        except BaseException:
            device.release()
            raise

    def _restore(self, schedule: Schedule) -> Commands | None:
        """Commands of kernels that were compiled before; None if they must be compiled."""
        binary = read_binary(self._folder, self.device, self._plan)
        if binary is None:
            return None
        return restore_commands(self._plan, schedule, self.device, self.memory.buffers, binary)

    def _store_binary(self) -> None:
        """Store the compiled kernels beside the plan.

        Some drivers compile at a kernel's first launch, so everything runs once before, on zeros.
        """
        self.memory.fill((Region.INPUT,), 0)
        for segment in self._commands.segments:
            self.device.enqueue(segment)
        self.memory.reset()
        binary = self.device.binary(self._commands.programs)
        if binary is not None:
            try:
                write_binary(self._folder, self.device, self._plan, binary)
            except PlanError as error:
                warn(
                    "the compiled kernels could not be stored, so the next start will be slow as "
                    f"well: {error}",
                    CacheWarning,
                    stacklevel=8,
                )

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The model's outputs, in order, for inputs as `arrays_for` returns them."""
        with self._finishing():
            self._upload(arrays)
            enqueue = self.device.enqueue
            return self._results(self._execute(arrays, self._commands.recorded, enqueue))

    def run_checked(self, arrays: Sequence[Array]) -> list[Array]:
        """The same, dispatch by dispatch; InputError if an index is out of bounds."""
        queue = CheckedQueue(self._plan, self.device, self.memory.buffers)
        with self._finishing():
            self._upload(arrays)
            segments = self._single_dispatches().segments
            return self._results(self._execute(arrays, segments, queue.enqueue))

    def profile(self, arrays: Sequence[Array]) -> list[float]:
        """The seconds that each dispatch takes on the device, run one at a time."""
        times: list[float] = []

        def enqueue(commands: Sequence[Command]) -> None:
            times.extend(self.device.profile(commands))

        with self._finishing():
            self._upload(arrays)
            self.device.finish()
            self._execute(arrays, self._single_dispatches().segments, enqueue)
            self.device.finish()
        return times

    def profile_parts(self, arrays: Sequence[Array]) -> list[PartTime]:
        """The time that each part takes."""
        times: list[PartTime] = []
        with self._finishing():
            self._upload(arrays)
            self._execute(arrays, self._commands.recorded, self.device.enqueue, times)
            self.device.finish()
        return times

    def reset(self) -> None:
        """Give the variables of the plan and of its parts their initial content."""
        self.memory.reset()
        for part in self._parts:
            part.reset()

    @contextmanager
    def _finishing(self) -> Iterator[None]:
        """If a run fails, wait for the commands it has started, which would disturb the next."""
        try:
            yield
        except BaseException:
            with suppress(DeviceError):
                self.device.finish()
            raise

    def _upload(self, arrays: Sequence[Array]) -> None:
        """Copy the inputs that the device reads."""
        infos = [self._plan.inputs[index] for index in self._uploaded]
        converted = device_arrays(infos, [arrays[index] for index in self._uploaded])
        for index, array in zip(self._uploaded, converted, strict=True):
            self.device.upload(self.memory.buffers[Region.INPUT, index], array)

    def _execute(
        self,
        arrays: Sequence[Array],
        segments: Sequence[Sequence[Command]],
        enqueue: Callable[[Sequence[Command]], None],
        times: list[PartTime] | None = None,
    ) -> dict[int, Array]:
        """Run segments and parts in turn; returns the host tensors, by index.

        `times` receives the time of each part, for which the device must finish before each.
        """
        tensors = self._plan.host_tensors
        values = {i: arrays[t.input] for i, t in enumerate(tensors) if t.input >= 0}
        *before, last = segments
        for part, segment in zip(self._parts, before, strict=True):
            enqueue(segment)
            if times is not None:
                self.device.finish()
            start = perf_counter()
            self._copy_in(part, values)
            copied = perf_counter()
            results = part.run([values[index] for index in part.record.inputs])
            ran = perf_counter()
            values.update(zip(part.record.outputs, results, strict=True))
            self._copy_out(part, values)
            if times is not None:
                times.append(PartTime(copied - start, ran - copied, perf_counter() - ran))
        enqueue(last)
        return values

    def _single_dispatches(self) -> Commands:
        """A command for each dispatch; runs with persistent kernels have not compiled theirs."""
        if not self._plan.persistent or not self.device.resident_groups:
            return self._commands
        if self._dispatch_commands is None:
            sources = read_sources(self._folder, self._plan)
            self._dispatch_commands = compile_commands(
                self._plan, self._plan.schedule(0), self.device, self.memory.buffers, sources
            )
        return self._dispatch_commands

    def _copy_in(self, part: HostRun, values: dict[int, Array]) -> None:
        """Copy from the device the inputs of a part that are not on the host yet."""
        tensors = self._plan.host_tensors
        missing = [index for index in dict.fromkeys(part.record.inputs) if index not in values]
        for index in missing:
            tensor = tensors[index]
            assert tensor.place is not None
            values[index] = np.empty(tensor.shape, device_dtype(tensor.dtype))
            buffer = self.memory.buffers[tensor.place.region, tensor.place.index]
            self.device.download(buffer, values[index], tensor.place.offset)
        if missing:
            self.device.finish()
        for index in missing:
            values[index] = values[index].astype(tensors[index].dtype, copy=False)

    def _copy_out(self, part: HostRun, values: dict[int, Array]) -> None:
        """Copy the outputs of a part to the device, where it needs them."""
        written = [(self._plan.host_tensors[index], index) for index in part.record.outputs]
        placed = [(tensor, values[index]) for tensor, index in written if tensor.place is not None]
        arrays = device_arrays([t for t, _ in placed], [array for _, array in placed])
        for (tensor, _), array in zip(placed, arrays, strict=True):
            assert tensor.place is not None
            buffer = self.memory.buffers[tensor.place.region, tensor.place.index]
            self.device.upload(buffer, array, tensor.place.offset)
        if arrays:
            self.device.finish()  # the arrays must live until then

    def _results(self, values: dict[int, Array]) -> list[Array]:
        """The model's outputs, from the host if a part has computed them."""
        tensors = self._plan.host_tensors
        on_host = {tensors[i].output: array for i, array in values.items()}
        results = []
        for index, info in enumerate(self._plan.outputs):
            if index in on_host:
                results.append(on_host[index])
            else:
                results.append(np.empty(info.shape, device_dtype(info.dtype)))
                self.device.download(self.memory.buffers[Region.OUTPUT, index], results[-1])
        self.device.finish()
        return results
