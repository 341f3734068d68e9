"""Workers: what compiles tasks and has the variants written into a place.

`Here` is this process, `processes.Processes` are others of this machine, and `scheduled.Scheduled`
are those of a scheduler, wherever they are.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from ...runtime.errors import TflgpuWarning
from .. import pipeline
from ..emit.compiled_model import CompiledModel
from ..errors import Finding, ModelError, ModelFileError, UnsupportedError
from ..keep_f32 import settle
from ..litert.child import Child
from ..litert.reference import litert_version
from ..options import Options
from ..telling import Progress, silent, told
from .place import Kept, Place
from .tasks import Task


@dataclass(frozen=True)
class Built:
    """What compiling gives, in memory."""

    compiled: CompiledModel
    seconds: float
    warnings: tuple[TflgpuWarning, ...]


@dataclass(frozen=True)
class Failed:
    error: Exception
    # The version of LiteRT if another attempt with it would fail alike; else empty.
    litert: str = ""


@dataclass(frozen=True)
class Written:
    kept: Kept
    seconds: float
    fallback: tuple[Finding, ...]
    report: Mapping[str, Any]
    # Those of compiling and of writing, which only the process that asked for both gives.
    warnings: tuple[TflgpuWarning, ...]


class Workers(Protocol):
    litert: str  # Their version of LiteRT; empty if it differs among them.

    def run(self, tasks: Sequence[Task], place: Place) -> Iterator[tuple[Task, Written | Failed]]:
        """Each task with its outcome, as they come (PlanError, StoreError, WorkerError)."""


class Here:
    """Compiles one task after another in this process."""

    def __init__(self, progress: Progress = silent) -> None:
        self.litert = litert_version()
        self._progress = progress

    def run(self, tasks: Sequence[Task], place: Place) -> Iterator[tuple[Task, Written | Failed]]:
        return all_written(((task, compile_task(task, self._progress)) for task in tasks), place)


def compile_task(task: Task, progress: Progress = silent) -> Built | Failed:
    """Compile a task whose files this process can read."""
    before = Child.unanswered
    try:
        built = compile_file(task.model, task.options, task.tolerance, progress)
        if built.compiled.plan.fingerprint != task.fingerprint:
            raise ModelFileError(f"{task.model} has changed since the run began; run it again")
        return built
    except Exception as error:
        return failed(error, before)


def compile_file(
    model: Path, options: Options, tolerance: float, progress: Progress = silent
) -> Built:
    """Compile a model in memory, after a search if asked for. Raises as `tflgpu.compile`."""
    start = perf_counter()
    with told() as warnings:
        settled = settle(model, options, tolerance, progress)
        compiled = pipeline.build(model, settled, progress)
    return Built(compiled, perf_counter() - start, tuple(warnings))


def failed(error: Exception, unanswered_before: int) -> Failed:
    """A failure of this process, which would be the same again if the model is what is wrong.

    It need not be if LiteRT left a question unanswered meanwhile, such as for want of memory.
    """
    of_model = isinstance(error, (ModelError, UnsupportedError))
    lasting = of_model and not isinstance(error, ModelFileError)
    lasting = lasting and Child.unanswered == unanswered_before
    return Failed(error, litert_version() if lasting else "")


def all_written(
    outcomes: Iterable[tuple[Task, Built | Failed]], place: Place
) -> Iterator[tuple[Task, Written | Failed]]:
    """Tasks in the order of their outcomes, each once its variant is in the place.

    Waiting for a disk or a network can take as long as compiling, so it is done meanwhile.
    """

    def write(outcome: Built | Failed) -> Written | Failed:
        if isinstance(outcome, Failed):
            return outcome
        compiled = outcome.compiled
        with told() as warnings:
            kept = place.put(compiled)
        every = (*outcome.warnings, *warnings)
        return Written(kept, outcome.seconds, compiled.fallback, compiled.report, every)

    with ThreadPoolExecutor(place.writers, "write") as writers:
        waiting: deque[tuple[Task, Future[Written | Failed]]] = deque()
        for task, outcome in outcomes:
            waiting.append((task, writers.submit(write, outcome)))
            while waiting and (len(waiting) > place.writers or waiting[0][1].done()):
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
