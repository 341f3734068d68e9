"""Running a variant on a device: its commands and parts, in their order."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from .custom_op import CustomOp
from .errors import CacheWarning, DeviceError, PlanError
from .exchange import Exchange, PartTime
from .forks import DRIVER_PROCESS
from .indices import CheckedQueue
from .inputs import device_arrays
from .launch.commands import Buffers, Commands, bind_commands, compile_commands, restore_commands
from .launch.device import Command, Device
from .launch.memory import DeviceMemory
from .parts import load_parts
from .plan.records import Plan, Region
from .plan.storage import device_dtype
from .store.binaries import read_binary, write_binary
from .store.variant import Variant

Array = NDArray[Any]
NO_TARGETS: Mapping[int, Array] = {}


class Execution:
    """A variant on a device, for use by one thread at a time.

    Its methods must be called inside a `with` block, for which other threads wait. Entering one
    raises DeviceError if the execution is closed, or belongs to the process that this one was
    forked from.
    """

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
        self.plan: Plan = variant.plan
        self._lock = threading.Lock()
        self._closed = False
        self.slots: weakref.WeakSet[Any] = weakref.WeakSet()
        """Those that are to be released before the device."""
        self.dropped: list[tuple[Callable[[], None], Any]] = []
        """What frees slots that nobody closed, each with what its run in flight uses until then."""
        weakref.finalize(self, _free, device, self.dropped).atexit = False
        self._variant = variant
        self.used: Buffers | None = None
        """The buffers of the last run; None before the first."""
        self._dispatch_commands: Commands | None = None
        """A command for each dispatch, once `profile` has been called."""
        buffers = variant.plan.input_buffers
        self.uploaded = [index for index, buffer in enumerate(buffers) if buffer.used]
        """The inputs that the device reads."""
        try:
            reason = device.unsupported_reason(self.plan)
            if reason is not None:
                raise PlanError(
                    f"{variant.folder} cannot run on {device.info}: {reason}; compile the model "
                    f"for this device: tflgpu-compile --target {device.info.target} "
                    f"--device '{device.info.name}'"
                )
            self._parts = load_parts(variant, custom_ops)
            self.memory = DeviceMemory(self.plan, device, variant.weights.content)
            self._schedule = self.plan.schedule(device.resident_groups)
            restored = self._restore()
            self.commands = restored or compile_commands(
                self.plan, self._schedule, device, self.memory.buffers, variant.sources
            )
            # Nothing may run before the weights have been checked.
            variant.weights.check(self.plan)
            if restored is None and store_binaries and device.has_binaries:
                self._store_binary()
        except BaseException:
            device.release()
            raise

    def __enter__(self) -> Execution:
        # Another thread of the process that was forked may have held the lock.
        self.check_process()
        self._lock.acquire()
        if self._closed:
            self._lock.release()
            raise DeviceError("the session is closed; load the model again")
        _free(self.device, self.dropped)
        return self

    def check_process(self) -> None:
        """DeviceError if it belongs to a process that this one was forked from."""
        DRIVER_PROCESS.check("this session was loaded")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def close(self) -> None:
        """Release the device. Closing again, or in a forked process, does nothing."""
        if DRIVER_PROCESS.lost:
            return
        with self._lock:
            if not self._closed:
                self._closed = True
                for slot in list(self.slots):
                    slot.release()
                _free(self.device, self.dropped)
                self.device.release()
                self._parts.clear()

    def _restore(self) -> Commands | None:
        """Commands of kernels that were compiled before; None if they must be compiled."""
        binary = read_binary(self._variant.folder, self.device, self.plan)
        if binary is None:
            return None
        buffers = self.memory.buffers
        return restore_commands(self.plan, self._schedule, self.device, buffers, binary)

    def commands_on(self, buffers: Buffers) -> Commands:
        """The same commands on other inputs and outputs (DeviceError)."""
        everything = {**self.memory.buffers, **buffers}
        programs = self.commands.programs
        return bind_commands(self.plan, self._schedule, self.device, everything, programs)

    def _store_binary(self) -> None:
        """Store the compiled kernels beside the plan.

        Some drivers compile at a kernel's first launch, so everything runs once before, on zeros.
        """
        self.memory.fill((Region.INPUT,), 0)
        for segment in self.commands.segments:
            self.device.enqueue(segment)
        self.memory.reset()
        binary = self.device.binary(self.commands.programs)
        if binary is not None:
            try:
                write_binary(self._variant.folder, self.device, self.plan, binary)
            except PlanError as error:
                warn(
                    "the compiled kernels could not be stored, so the next start will be slow as "
                    f"well: {error}",
                    CacheWarning,
                    stacklevel=8,
                )

    def run(
        self, arrays: Sequence[Array], targets: Mapping[int, Array] = NO_TARGETS
    ) -> list[Array]:
        """The model's outputs, in order, for inputs as `arrays_for` returns them.

        Each is written into its array of `targets`, by its index, if there is one that is
        contiguous and of the device's dtype.
        """
        with self.device.calls, self.finishing():
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
        with self.finishing():
            self._upload(arrays)
            values = self.execute(arrays, self.single_dispatches().segments, enqueue)
            return self._results(values)

    def profile(self, arrays: Sequence[Array]) -> list[float]:
        """The seconds that each dispatch takes on the device, run one at a time."""
        times: list[float] = []

        def enqueue(commands: Sequence[Command]) -> None:
            times.extend(self.device.profile(commands))

        with self.finishing():
            self._upload(arrays)
            self.device.finish()
            self.execute(arrays, self.single_dispatches().segments, enqueue)
            self.device.finish()
        return times

    def profile_parts(self, arrays: Sequence[Array]) -> list[PartTime]:
        """The time that each part takes."""
        times: list[PartTime] = []
        with self.finishing():
            self._upload(arrays)
            self.execute(arrays, self.commands.recorded, self.device.enqueue, times=times)
            self.device.finish()
        return times

    def reset(self) -> None:
        """Give the variables of the plan and of its parts their initial content."""
        self.memory.reset()
        for part in self._parts:
            part.reset()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """If a run fails, wait for the commands it has started, which would disturb the next."""
        try:
            yield
        except BaseException:
            with suppress(DeviceError):
                self.device.finish()
            raise

    @cached_property
    def host_inputs(self) -> set[int]:
        """The inputs that parts on LiteRT read."""
        return {tensor.input for tensor in self.plan.host_tensors}

    @cached_property
    def device_outputs(self) -> list[int]:
        """The outputs that kernels compute."""
        on_host = {tensor.output for tensor in self.plan.host_tensors}
        return [index for index in range(len(self.plan.outputs)) if index not in on_host]

    def _upload(self, arrays: Sequence[Array]) -> None:
        """Copy the inputs that the device reads."""
        infos = [self.plan.inputs[index] for index in self.uploaded]
        converted = device_arrays(infos, [arrays[index] for index in self.uploaded])
        for index, array in zip(self.uploaded, converted, strict=True):
            self.device.upload(self.memory.buffers[Region.INPUT, index], array)

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
        self.used = buffers or self.memory.buffers
        exchange = Exchange(self.plan, self.device, self.used, arrays)
        *before, last = segments
        for part, segment in zip(self._parts, before, strict=True):
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
            self._dispatch_commands = compile_commands(
                self.plan, schedule, self.device, buffers, self._variant.sources
            )
        return self._dispatch_commands

    def _results(
        self, values: dict[int, Array], targets: Mapping[int, Array] = NO_TARGETS
    ) -> list[Array]:
        """The model's outputs, from the host if a part has computed them."""
        on_host = self.host_outputs(values)
        results = []
        for index, info in enumerate(self.plan.outputs):
            if index in on_host:
                results.append(on_host[index])
            else:
                dtype, target = device_dtype(info.dtype), targets.get(index)
                if target is None or target.dtype != dtype or not target.flags.c_contiguous:
                    target = np.empty(info.shape, dtype)
                self.device.download(self.memory.buffers[Region.OUTPUT, index], target)
                results.append(target)
        self.device.finish()
        return results

    def host_outputs(self, values: dict[int, Array]) -> dict[int, Array]:
        """The model's outputs that parts have computed, by index, of what `execute` returned."""
        tensors = self.plan.host_tensors
        return {tensors[i].output: array for i, array in values.items()}


def _free(device: Device, dropped: list[tuple[Callable[[], None], Any]]) -> None:
    """Free the memory of slots, once the runs that use it are done."""
    if dropped and not DRIVER_PROCESS.lost:
        with suppress(DeviceError):
            device.finish()
        while dropped:
            dropped.pop()[0]()
