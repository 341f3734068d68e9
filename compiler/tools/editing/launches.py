"""The launches of a kernel with its original and with an edited text, compared and timed.

Each launch reads what it reads in a run of the whole model, so its inputs are valid and real.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from ....runtime.cache.variant import Variant
from ....runtime.execution.execution import Execution
from ....runtime.launch.commands import bind_commands
from ....runtime.launch.device import Command, Device
from ....runtime.loaded_model import LoadedModel
from ....runtime.plan.records import Argument, PlacedTensor, Plan
from ....runtime.plan.storage import device_dtype
from ...emit.facts import overlap
from ...ir import Array
from ..comparison import Comparison, compare

ROUNDS = 30  # Times that each launch runs with either text, in turns.
# The byte that outputs hold before a launch: NaN in floats, so that what is not written shows.
POISON = 0xFF
ORIGINAL = "the original's"


@dataclass(frozen=True)
class LaunchTrial:
    """A launch with the original and the edited kernel."""

    dispatch: int  # Index into `Plan.dispatches`.
    label: str  # The operators it computes, and the tensor.
    outputs: tuple[Comparison, ...]  # What it writes, compared with the original's.
    before: float  # Median seconds with the original.
    after: float  # Median seconds with the edited kernel.
    # `after` by `before`, of runs that took turns; below 1, the edited kernel is faster.
    ratio: float


def try_launches(
    original: Variant,
    index: int,
    text: str,
    file: str,
    device: Device,
    arrays: Sequence[Array],
    tolerance: float | None,
) -> tuple[LaunchTrial, ...]:
    """Every launch of a kernel, by its index, on a device, which is released.

    `text` is the edited text, from `file`; `arrays` are the model's inputs. BuildError if the
    driver rejects the text, which names the file; raises as `Session` does.
    """
    model = LoadedModel(original, device, store_binaries=False, custom_ops={})
    try:
        with model.first as execution, device.calls:
            trials = _Trials(execution, index, text, file, tolerance)
            execution.run_dispatches(arrays, trials.enqueue)
            return tuple(trials.found)
    finally:
        model.device.close()


class _Trials:
    """Enqueues the dispatches of a run, and tries those of one kernel on the way."""

    def __init__(
        self, execution: Execution, index: int, text: str, file: str, tolerance: float | None
    ) -> None:
        self._plan: Plan = execution.plan
        self._device, self._buffers = execution.device, execution.memory.buffers
        self._tolerance = tolerance
        schedule, single = self._plan.schedule(0), execution.single_dispatches()
        kernel = replace(self._plan.kernels[index], file=file)
        (program,) = self._device.build([kernel], schedule.options, {file: text})
        programs = [
            program if number == index else compiled
            for number, compiled in zip(schedule.kernels, single.programs, strict=True)
        ]
        bound = bind_commands(self._plan, schedule, self._device, self._buffers, programs)
        self._edited = [command for segment in bound.segments for command in segment]
        self._index = index
        self._started = 0  # Dispatches enqueued so far.
        self.found: list[LaunchTrial] = []

    def enqueue(self, commands: Sequence[Command]) -> None:
        """Start commands, as `Device.enqueue`."""
        for command in commands:
            if self._plan.dispatches[self._started].kernel == self._index:
                self.found.append(self._trial(self._started, command))
            self._device.enqueue([command])
            self._started += 1

    def _trial(self, number: int, command: Command) -> LaunchTrial:
        """Try a dispatch; leaves everything it reads and writes as it was."""
        dispatch, edited = self._plan.dispatches[number], self._edited[number]
        arguments = list(dict.fromkeys(dispatch.arguments))
        written = [argument for argument in arguments if argument.writes]
        before = {argument: self._read(argument) for argument in written}
        results = []
        for each in (command, edited):
            self._poison(arguments, before)
            self._device.enqueue([each])
            results.append([self._read(argument) for argument in written])
        outputs = tuple(
            self._compare(number, argument, got, expected)
            for argument, expected, got in zip(written, *results, strict=True)
        )
        times = self._device.profile([command, edited] * ROUNDS)
        for argument, content in before.items():
            self._write(argument, content)
        original, changed = (max(median(found), 1e-9) for found in (times[::2], times[1::2]))
        return LaunchTrial(number, dispatch.label, outputs, original, changed, changed / original)

    def _poison(self, arguments: Sequence[Argument], before: Mapping[Argument, Array]) -> None:
        """Give what a dispatch writes a content that it does not compute, unless it reads it."""
        reads = [argument for argument in arguments if not argument.writes]
        for argument, content in before.items():
            in_place = any(overlap(argument, other) for other in reads)
            self._write(argument, content if in_place else np.full_like(content, POISON))

    def _read(self, argument: Argument) -> Array:
        content = np.empty(argument.size, np.uint8)
        buffer = self._buffers[argument.region, argument.index]
        self._device.download(buffer, content, argument.offset)
        self._device.finish()
        return content

    def _write(self, argument: Argument, content: Array) -> None:
        buffer = self._buffers[argument.region, argument.index]
        self._device.upload(buffer, content, argument.offset)
        self._device.finish()

    def _compare(self, number: int, argument: Argument, got: Array, expected: Array) -> Comparison:
        """Compare everything that was written, also the lanes beyond the last channel."""
        tensor = self._tensor(number, argument)
        name = tensor.name if tensor else self._plan.dispatches[number].label
        dtype: Any = np.float32
        if tensor is not None:
            dtype = np.dtype(tensor.stored or device_dtype(tensor.dtype))
        precision = self._plan.precision
        arrays = (got.view(dtype), expected.view(dtype))
        return compare(name, *arrays, precision, whose=ORIGINAL, tolerance=self._tolerance)

    def _tensor(self, number: int, argument: Argument) -> PlacedTensor | None:
        """The tensor that an argument is, or the one that it is a part of."""
        alive = [
            tensor
            for tensor in self._plan.tensors
            if tensor.first <= number <= tensor.last and overlap(tensor, argument)
        ]
        return max(alive, key=lambda tensor: (tensor.first == number, -tensor.size), default=None)
