"""A run for each of many frames, some of them in flight at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..errors import InputError
from ..execution.execution import Execution
from ..execution.inputs import arrays_for
from ..launch.memory import Array
from .host import check_bindable
from .slot import Slot
from .submitted import SubmittedRun

Pick = Callable[[Any], Execution]  # Returns the execution for the shapes of a frame.


def stream(
    execution: Execution, pick: Pick, frames: Iterable[Any], depth: int
) -> Iterator[dict[str, Array]]:
    """The outputs for each frame, as of `Session.stream`; `execution` is the first choice's."""
    if not isinstance(depth, int):
        raise InputError(f"depth={depth!r}: give the number of runs in flight")
    if depth < 1:
        raise InputError(f"depth={depth}: at least one run must be in flight")
    check_bindable(*execution.plan.outputs)
    return _stream(pick, frames, depth)


def _stream(pick: Pick, frames: Iterable[Any], depth: int) -> Iterator[dict[str, Array]]:
    with ExitStack() as opened:
        idle: dict[Execution, list[Slot]] = {}
        in_flight: deque[tuple[Execution, Slot, SubmittedRun[Array]]] = deque()
        for frame in frames:
            execution = pick(frame)
            arrays = arrays_for(execution.plan.inputs, frame)
            results = None
            if len(in_flight) == depth:
                done, slot, run = in_flight.popleft()
                results = run.wait()
                idle[done].append(slot)
            waiting = idle.setdefault(execution, [])
            slot = waiting.pop() if waiting else _slot(execution, opened)
            in_flight.append((execution, slot, _submitted(execution, slot, arrays)))
            if results is not None:
                yield results
        while in_flight:
            *_, run = in_flight.popleft()
            yield run.wait()


def _slot(execution: Execution, opened: ExitStack) -> Slot:
    check_bindable(*execution.plan.outputs)
    with execution, execution.device.scope() as free:
        slot = Slot(execution, {}, free)
    opened.callback(slot.close)
    return slot


def _submitted(execution: Execution, slot: Slot, arrays: list[Array]) -> SubmittedRun[Array]:
    outputs = {info.name: np.empty(info.shape, info.dtype) for info in execution.plan.outputs}
    targets = dict(enumerate(outputs.values()))
    with execution, execution.device.calls:
        slot.start(dict(enumerate(arrays)), targets, may_change=True)
        return SubmittedRun(execution, slot, slot.mark(targets), outputs)
