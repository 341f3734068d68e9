"""Workers: what compiles tasks. `Here` is this process; `cluster.Cluster` has processes elsewhere.

A worker returns the compiled model and writes nothing: publishing is up to who asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol

from .. import pipeline
from ..emit.compiled_model import CompiledModel
from ..keep_f32 import settle
from ..options import Options
from .tasks import Task


@dataclass(frozen=True)
class Built:
    """What a worker made of a task."""

    compiled: CompiledModel
    seconds: float


Outcome = Built | Exception


class Workers(Protocol):
    """Something that compiles tasks."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Each task with its outcome, as they come (WorkerError)."""


class Here:
    """Compiles one task after another in this process."""

    def __init__(self, progress: pipeline.Progress = pipeline.silent) -> None:
        self._progress = progress

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            try:
                outcome: Outcome = compile_file(
                    task.model, task.options, task.tolerance, self._progress
                )
            except Exception as error:
                outcome = error
            yield task, outcome


def compile_file(
    model: Path, options: Options, tolerance: float, progress: pipeline.Progress = pipeline.silent
) -> Built:
    """Compile a model file in memory, after a search for operators to keep, if that is asked for.

    Raises what `tflgpu.compile` raises, except for the cache.
    """
    start = perf_counter()
    settled = settle(model, options, tolerance, progress)
    compiled = pipeline.build(model, settled, progress)
    return Built(compiled, perf_counter() - start)
