"""Running a variant on a device: its commands and parts, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..cache.binaries import restored_programs, stored_at, write_binary
from ..cache.variant import Variant, read_sources
from ..errors import CacheWarning, DeviceError, PlanError, warn_caller
from ..launch.commands import Buffers, Commands, bind_commands, compile_commands
from ..launch.device import Command, Device, Program
from ..launch.memory import Array, DeviceMemory
from ..plan.records import Plan, Region
from .copies import CopyIn, CopyOut
from .exchange import Exchange, PartTime, load_parts
from .indices import CheckedQueue
from .session_device import SessionDevice

if TYPE_CHECKING:
    from ..custom_op import CustomOp

NO_TARGETS: Mapping[int, Array] = {}


class Execution:
    """A plan on a device, to be used by one thread at a time, inside a `with` block."""

    def __init__(
        self,
        variant: Variant,
        owner: SessionDevice,
        store_binaries: bool,
        custom_ops: Mapping[str, CustomOp],
        beside: Sequence[DeviceMemory] = (),
        programs: Sequence[Program] | None = None,
    ) -> None:
        """Load the variant onto the device, beside those for other shapes of its inputs.

        `programs` are those of `restored_programs`, if they have been restored already. Raises as
        `Session` does.
        """
        device = owner.device
        self.device, self.owner = device, owner
        self.plan: Plan = variant.plan
        # The variant itself would keep the file of weights mapped.
        self._folder, self._whole, self._texts = variant.folder, variant.whole, variant.texts
        self.finishing = _Finishing(device)
        # A command for each dispatch, once `profile` has been called.
        self._dispatch_commands: Commands | None = None
        buffers = variant.plan.input_buffers
        # The inputs that the device reads.
        self.uploaded = [index for index, buffer in enumerate(buffers) if buffer.used]
        reason = device.unsupported_reason(self.plan)
        if reason is not None:
            raise PlanError(
                f"{variant.folder} cannot run on {device.info}: {reason}; compile the model "
                f"for this device: tflgpu-compile --target {device.info.target} "
                f"--device '{device.info.name}'"
            )
        # A binary is stored once the weights have been checked.
        checked = variant.weights.unchanged_since(stored_at(variant.folder, device.info))
        if not checked:
            variant.weights.begin_check()
        self.parts = load_parts(variant, custom_ops)
        self.memory = DeviceMemory(self.plan, device, variant.weights.content, beside)
        self._schedule = self.plan.schedule(device.resident_groups)
        restored = self._restore(programs)
        self.commands = restored or compile_commands(
            self.plan, self._schedule, device, self.memory.buffers, variant.sources
        )
        # Nothing may run before that.
        if restored is None or not checked:
            variant.weights.check(self.plan)
        if restored is None and store_binaries and device.has_binaries:
            self._store_binary()

    def __enter__(self) -> Execution:
        self.owner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.owner.__exit__()

    def _restore(self, programs: Sequence[Program] | None) -> Commands | None:
        """Commands of kernels that were compiled before; None if they must be compiled."""
        programs = programs or restored_programs(self._folder, self.device, self.plan)
        if programs is None:
            return None
        try:
            return self._bind(self.memory.buffers, programs)
        except DeviceError:
            # Only now may a driver notice that it cannot use the binary.
            return None

    def _bind(self, buffers: Buffers, programs: Sequence[Program]) -> Commands:
        return bind_commands(self.plan, self._schedule, self.device, buffers, programs)

    def commands_on(self, buffers: Buffers) -> Commands:
        """The commands bound to other inputs and outputs (DeviceError)."""
        return self._bind({**self.memory.buffers, **buffers}, self.commands.programs)

    def _store_binary(self) -> None:
        """Store the compiled kernels beside the plan.

        Some drivers compile at a kernel's first launch, so everything runs once before, on zeros.
        """
        state = self.memory.state()
        self.memory.fill((Region.INPUT,), 0)
        for segment in self.commands.segments:
            self.device.enqueue(segment)
        self.memory.restore(state)
        try:
            binary = self.device.binary(self.commands.programs)
            if binary is not None:
                write_binary(self._folder, self.device, self.plan, binary, self._whole)
        except (DeviceError, PlanError) as error:
            text = "the compiled kernels could not be stored, so the next start will be slow"
            warn_caller(CacheWarning(f"{text} as well: {error}"))

    def run(
        self, arrays: Sequence[Array], targets: Mapping[int, Array] = NO_TARGETS
    ) -> list[Array]:
        """The model's outputs; kernels write theirs into the arrays of `targets`, by index."""
        with self.device.calls, self.finishing:
            self._upload(arrays)
            values = self.execute(arrays, self.commands.recorded, self.device.enqueue)
            return self._results(values, targets)

    def run_checked(self, arrays: Sequence[Array]) -> list[Array]:
        """The same, dispatch by dispatch; InputError if an index is out of bounds."""
        queue = CheckedQueue(self.plan, self.device, self.memory.buffers)
        return self.run_dispatches(arrays, queue.enqueue)

    def run_dispatches(
        self, arrays: Sequence[Array], enqueue: Callable[[Sequence[Command]], None]
    ) -> list[Array]:
        """The model's outputs, of a run in which `enqueue` starts the commands, one a dispatch."""
        with self.finishing:
            self._upload(arrays)
            values = self.execute(arrays, self.single_dispatches().segments, enqueue)
            return self._results(values)

    def profile(self, arrays: Sequence[Array]) -> list[float]:
        """The seconds that each dispatch takes on the device, run one at a time."""
        times: list[float] = []

        def enqueue(commands: Sequence[Command]) -> None:
            times.extend(self.device.profile(commands))

        with self.finishing:
            self._upload(arrays)
            self.device.finish()
            self.execute(arrays, self.single_dispatches().segments, enqueue)
            self.device.finish()
        return times

    def profile_parts(self, arrays: Sequence[Array]) -> list[PartTime]:
        times: list[PartTime] = []
        with self.finishing:
            self._upload(arrays)
            self.execute(arrays, self.commands.recorded, self.device.enqueue, times=times)
            self.device.finish()
        return times

    def reset(self) -> None:
        """Give the variables of the plan and of its parts their initial content."""
        self.memory.reset()
        for part in self.parts:
            part.reset()

    @cached_property
    def host_inputs(self) -> set[int]:
        """The inputs that parts on LiteRT read."""
        return {tensor.input for tensor in self.plan.host_tensors}

    @cached_property
    def device_outputs(self) -> list[int]:
        """The outputs that kernels compute."""
        on_host = {tensor.output for tensor in self.plan.host_tensors}
        return [index for index in range(len(self.plan.outputs)) if index not in on_host]

    @cached_property
    def _copies_in(self) -> list[tuple[int, CopyIn]]:
        inputs, buffers = self.plan.inputs, self.memory.buffers
        return [
            (index, CopyIn(self.device, inputs[index], buffers[Region.INPUT, index]))
            for index in self.uploaded
        ]

    @cached_property
    def _copies_out(self) -> list[tuple[int, CopyOut]]:
        outputs, buffers = self.plan.outputs, self.memory.buffers
        return [
            (index, CopyOut(self.device, outputs[index], buffers[Region.OUTPUT, index]))
            for index in self.device_outputs
        ]

    def _upload(self, arrays: Sequence[Array]) -> None:
        if self.owner.slots:
            # Their runs in flight may read the same memory, if it is that of `mapped_input`.
            self.device.finish()
        for index, copy in self._copies_in:
            copy.start(arrays[index], may_change=False)

    def execute(
        self,
        arrays: Sequence[Array | None],
        segments: Sequence[Sequence[Command]],
        enqueue: Callable[[Sequence[Command]], None],
        buffers: Buffers | None = None,
        times: list[PartTime] | None = None,
    ) -> dict[int, Array]:
        """Run segments and parts in turn; returns the host tensors, by index.

        `buffers` are those of the segments' commands, the session's own by default. `times`
        receives the time of each part.
        """
        used = buffers or self.memory.buffers
        self.owner.used = (self.plan, used)
        if not self.parts:
            enqueue(segments[0])
            return {}
        exchange = Exchange(self.plan, self.device, used, arrays)
        *before, last = segments
        for part, segment in zip(self.parts, before, strict=True):
            enqueue(segment)
            exchange.run(part, times)
        enqueue(last)
        return exchange.values

    def single_dispatches(self) -> Commands:
        """A command for each dispatch; runs with persistent kernels have not compiled theirs."""
        if not self.plan.persistent or not self.device.resident_groups:
            return self.commands
        if self._dispatch_commands is None:
            schedule, buffers = self.plan.schedule(0), self.memory.buffers
            sources = self._texts or read_sources(self._folder, self.plan)
            self._dispatch_commands = compile_commands(
                self.plan, schedule, self.device, buffers, sources
            )
        return self._dispatch_commands

    def _results(
        self, values: dict[int, Array], targets: Mapping[int, Array] = NO_TARGETS
    ) -> list[Array]:
        """The model's outputs, from the host if a part has computed them."""
        results = dict(targets)
        for index, copy in self._copies_out:
            if index not in results:
                info = self.plan.outputs[index]
                results[index] = np.empty(info.shape, info.dtype)
            copy.start(results[index])
        self.device.finish()
        for index, copy in self._copies_out:
            copy.finish(results[index])
        results |= self.host_outputs(values)
        return [results[index] for index in range(len(self.plan.outputs))]

    def host_outputs(self, values: dict[int, Array]) -> dict[int, Array]:
        """The model's outputs that parts have computed, by index, of what `execute` returned."""
        tensors = self.plan.host_tensors
        return {tensors[i].output: array for i, array in values.items()}


class _Finishing:
    """A block that waits, if it fails, for what it has started, which would disturb the next one.

    A class, because entering one takes a fifth of the time of a generator.
    """

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(DeviceError):
                self._device.finish()
