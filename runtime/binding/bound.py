"""Runs on memory of the caller: one that is checked once, and a single one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic

import numpy as np

from ..errors import InputError
from ..execution.exchange import as_declared
from ..execution.execution import Execution
from ..execution.inputs import by_name
from ..launch.callers_memory import CallersMemory, callers_memory
from ..launch.device import Buffer, Command
from ..launch.memory import Array
from ..plan.records import Region, TensorInfo
from ..plan.storage import device_dtype, region_size
from ..shown import one_line
from .host import fitted, host_array, is_mapped_input
from .slot import Slot
from .submitted import Bound, SubmittedRun


class BoundRun(Generic[Bound]):
    """A run on memory of the caller, as `Session.bind` returns it.

    >>> with session.bind({"image": frame}, {"probabilities": result}) as bound:
    ...     while camera.read(frame):
    ...         bound.run()
    ...         print(result.argmax())

    It keeps the objects that are bound to it. Any thread may use it.
    """

    def __init__(self, execution: Execution, inputs: Any, outputs: Mapping[str, Bound]) -> None:
        """Applications call `Session.bind`, which says what is raised."""
        plan = execution.plan
        inputs = by_name(plan.inputs, inputs)
        self._execution = execution
        self._bound: dict[tuple[Region, int], Buffer] = {}
        # Copies on the device before and after the kernels.
        self._copies: dict[Region, list[Command]] = {Region.INPUT: [], Region.OUTPUT: []}
        # The objects that device memory of the caller lives as long as.
        self._owners: list[Any] = []
        missing = {info.name: None for info in plan.inputs if info.name not in inputs}
        with execution, execution.device.scope() as free:
            self._sources = self._fitted("input", {**inputs, **missing})
            self._targets = self._fitted("output", outputs)
            copies = (self._copies[Region.INPUT], self._copies[Region.OUTPUT])
            self._slot = Slot(execution, self._bound, free, self._owners, *copies)
        # The objects that were bound to outputs, by name.
        self.outputs: dict[str, Bound] = dict(outputs)

    def _fitted(self, kind: str, given: Mapping[str, Any]) -> dict[int, Array]:
        """The arrays of the host; device memory is added to what is bound (InputError)."""
        plan = self._execution.plan
        writes = kind == "output"
        infos = plan.outputs if writes else plan.inputs
        region = Region.OUTPUT if writes else Region.INPUT

        def fit(index: int, value: Any) -> Array | None:
            if value is None:
                raise InputError("it is missing")
            memory = callers_memory(value)
            if memory is not None:
                self._bound[region, index] = self._adopted(region, index, infos[index], memory)
            elif not writes and is_mapped_input(self._execution, index, value):
                self._bound[region, index] = self._execution.memory.buffers[region, index]
            else:
                return host_array(infos[index], value, writes)
            return None

        found = fitted(kind, infos, given, fit)
        return {index: array for index, array in found.items() if array is not None}

    def _adopted(
        self, region: Region, index: int, info: TensorInfo, memory: CallersMemory
    ) -> Buffer:
        """Device memory of the caller as a buffer (InputError)."""
        execution, writes = self._execution, region is Region.OUTPUT
        if writes and index not in execution.device_outputs:
            raise InputError("it is computed on the host; bind an array of the host")
        if not writes and index in execution.host_inputs:
            raise InputError("operators on the host read it; bind an array of the host")
        size = region_size(execution.plan, region, index)
        problem = memory.mismatch(device_dtype(info.dtype), info.shape, size)
        if problem is not None:
            raise InputError(f"the {memory.kind} does not fit: {problem}")
        buffer, copies = execution.device.adopt(memory, size, writes)
        self._copies[region] += copies
        self._owners.append(memory.owner)
        return buffer

    def run(self) -> dict[str, Bound]:
        """Run the model, and return `outputs`, which hold its results.

        InputError if an integer of an int64 input does not fit in 32 bits. DeviceError if a driver
        call fails or the session is closed.
        """
        with self._execution as execution, execution.device.calls:
            self._slot.start(self._sources, self._targets)
            execution.device.finish()
            self._slot.finish(self._targets)
        return self.outputs

    def submit(self, wait_for: Sequence[Any] = ()) -> SubmittedRun[Bound]:
        """Start a run and return at once, unless the last one that was submitted is still going on.

        The device first waits for the events of `wait_for`, such as those of commands that write
        device memory that is bound: pyopencl events, or on OpenGL each GLsync as a number. Arrays
        of the host are read before.

        Inputs must not change until the run is done, and arrays of the host hold the results once
        `SubmittedRun.wait` has returned. Runs are done in the order in which they were submitted.
        For several runs in flight on arrays of the host, bind each to arrays of its own. Operators
        on LiteRT are run before this returns. Errors are those of `run`, and InputError for objects
        that are no events.
        """
        if wait_for and not isinstance(wait_for, Iterable):
            raise InputError(f"wait_for={wait_for!r}: give a sequence of events, even of one")
        with self._execution as execution, execution.device.calls:
            if wait_for:
                execution.device.wait_for(wait_for)
            self._slot.start(self._sources, self._targets)
            run = self._slot.mark(self._targets)
        return SubmittedRun(self._execution, self._slot, run, self.outputs)

    def close(self) -> None:
        """Wait for the run in flight and release what is bound. Closing again does nothing."""
        self._slot.close()

    def __repr__(self) -> str:
        return one_line("BoundRun", self._execution, "released" if self._slot.closed else "")

    def __enter__(self) -> BoundRun[Bound]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_into(
    execution: Execution, arrays: Sequence[Array], outputs: Mapping[str, Bound], check: bool
) -> dict[str, Array | Bound]:
    """The outputs for inputs as `arrays_for` returns them: the objects of the caller by name, and
    new arrays for the others. Errors are those of `Session.run`.
    """
    infos = execution.plan.outputs
    if isinstance(outputs, Mapping) and any(
        callers_memory(value) is not None for value in outputs.values()
    ):
        if check:
            raise InputError("indices are checked with outputs on the host only; bind arrays")
        return _run_bound(execution, arrays, outputs)
    targets = fitted("output", infos, outputs, lambda i, value: host_array(infos[i], value, True))
    with execution:
        results = execution.run_checked(arrays) if check else execution.run(arrays, targets)
    returned: dict[str, Array | Bound] = {}
    for index, (info, result) in enumerate(zip(infos, results, strict=True)):
        if index in targets and result is not targets[index]:
            np.copyto(targets[index], result, casting="unsafe")
        returned[info.name] = outputs[info.name] if index in targets else as_declared(info, result)
    return returned


def _run_bound(
    execution: Execution, arrays: Sequence[Array], outputs: Mapping[str, Bound]
) -> dict[str, Array | Bound]:
    plan = execution.plan
    inputs = {info.name: array for info, array in zip(plan.inputs, arrays, strict=True)}
    others = [info for info in plan.outputs if info.name not in outputs]
    made = {info.name: np.empty(info.shape, info.dtype) for info in others}
    targets: dict[str, Array | Bound] = {**made, **outputs}
    with BoundRun(execution, inputs, targets) as bound:
        results = bound.run()
    return {info.name: results[info.name] for info in plan.outputs}
