"""One run in flight: inputs and outputs of its own, and the commands that work on them."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..execution.copies import CopyIn, CopyOut
from ..execution.execution import Execution
from ..launch.commands import Buffers
from ..launch.device import Command, Marker
from ..launch.memory import Array
from ..plan.records import Region
from ..plan.storage import region_size
from ..startup import DRIVER_PROCESS

Arrays = Mapping[int, Array]  # Arrays of inputs or outputs, by their index in the model.


@dataclass(eq=False)
class Run:
    marker: Marker  # At its end.
    targets: Arrays
    # Whether it is done, outputs included, or has failed. Any thread may read it.
    settled: bool = False
    error: Exception | None = None


class Slot:
    """Runs one after the other; runs of other slots may be in flight meanwhile.

    The arena, the weights and the variables are those of the session: its queue is in-order. Every
    method but `close` must be called inside a `with` block of the execution.
    """

    def __init__(
        self,
        execution: Execution,
        bound: Buffers,
        free: Callable[[], None],
        owners: Sequence[Any] = (),
        before: Sequence[Command] = (),
        after: Sequence[Command] = (),
    ) -> None:
        """To be made in a scope of the device, which `free` frees (DeviceError).

        `bound` are buffers of the caller, which live as long as `owners`; the other inputs and
        outputs get buffers of their own.
        `before` and `after` are commands to enqueue before and after all others.
        """
        plan, device = execution.plan, execution.device
        self._execution, self._free = execution, free
        counts = ((Region.INPUT, len(plan.inputs)), (Region.OUTPUT, len(plan.outputs)))
        own = {
            (region, index): device.allocate(region_size(plan, region, index))
            for region, count in counts
            for index in range(count)
            if (region, index) not in bound
        }
        commands = execution.commands_on({**own, **bound})
        self._buffers = commands.buffers
        self._segments = [list(segment) for segment in commands.recorded]
        self._segments[0][:0] = before
        self._segments[-1] += after
        self._copies_in = {
            index: CopyIn(device, plan.inputs[index], own[Region.INPUT, index])
            for index in execution.uploaded
            if (Region.INPUT, index) in own
        }
        self._copies_out = {
            index: CopyOut(device, plan.outputs[index], own[Region.OUTPUT, index])
            for index in execution.device_outputs
            if (Region.OUTPUT, index) in own
        }
        # The outputs of the last run that parts on LiteRT have computed.
        self._on_host: dict[int, Array] = {}
        self._in_flight: list[Run] = []  # The run that has not been settled, if there is one.
        # Whether something was started behind which there is no marker, such as the filling of
        # barriers' counters when they are bound; and Ctrl-C may come between.
        self._unmarked = True
        execution.owner.slots.add(self)
        # A slot may be dropped on any thread, in the middle of a run of another one. The driver may
        # still be using the memory of its own run, so that is kept.
        dropped = (free, (owners, self._in_flight))
        self._finalizer = weakref.finalize(self, execution.owner.dropped.append, dropped)
        self._finalizer.atexit = False

    def start(self, sources: Arrays, targets: Arrays, may_change: bool = False) -> None:
        """Copy the inputs and start the kernels, once the run before is done.

        `targets` are the arrays to copy outputs to, as `finish` will. `may_change` says that the
        caller may write to `sources` as soon as this returns. InputError if an integer does not fit
        in 32 bits.
        """
        if self.closed:
            raise DeviceError("the bound run is closed; bind its inputs and outputs again")
        self.settle()
        execution = self._execution
        self._unmarked = True
        with execution.finishing:
            for index, copy_in in self._copies_in.items():
                copy_in.start(sources[index], may_change)
            arrays = [sources.get(index) for index in range(len(execution.plan.inputs))]
            enqueue = execution.device.enqueue
            values = execution.execute(arrays, self._segments, enqueue, self._buffers)
            self._on_host = execution.host_outputs(values)
            for index, copy_out in self._copies_out.items():
                if index in targets:
                    copy_out.start(targets[index])

    def mark(self, targets: Arrays) -> Run:
        """Mark the end of the run that was started last, which is in flight until `settle`."""
        run = Run(self._execution.device.mark(), targets)
        self._in_flight.append(run)
        self._unmarked = False
        return run

    def settle(self) -> None:
        """Wait for the run in flight, if there is one, and complete its copies.

        If it has failed, whoever waits for that run is told, and nobody else.
        """
        for run in self._in_flight:
            try:
                run.marker.wait()
                self.finish(run.targets)
            except Exception as error:
                run.error = error
            run.settled = True
        self._in_flight.clear()

    def finish(self, targets: Arrays) -> None:
        """Complete the copies of outputs, once the kernels are done."""
        for index, target in targets.items():
            if index in self._on_host:
                np.copyto(target, self._on_host[index], casting="unsafe")
            elif index in self._copies_out:
                self._copies_out[index].finish(target)

    @property
    def closed(self) -> bool:
        return not self._finalizer.alive

    def close(self) -> None:
        """Wait for the run in flight and free the buffers. Closing again does nothing."""
        if not self.closed and not DRIVER_PROCESS.lost:
            try:
                with self._execution:
                    self.release()
            except DeviceError:
                if not self.closed:  # Another thread may just have closed the session.
                    raise

    def release(self) -> None:
        """The same, inside a `with` block."""
        if self._finalizer.detach() is not None:
            self.settle()
            if self._unmarked:
                with suppress(DeviceError):
                    self._execution.device.finish()
            self._execution.owner.slots.discard(self)
            self._free()
