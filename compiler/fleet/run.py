"""A run: compiles the tasks that a cache lacks, and writes and records the results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from time import monotonic

from ..errors import Finding, ModelError, UnsupportedError
from .place import Place
from .result import Result
from .rows import Rows
from .tasks import Task
from .workers import Built, Outcome, Workers

WRITERS = 4
"""Variants that are being written at a time."""
SAVED_EVERY = 5.0
"""Seconds between writes of the rows, so that a run that is killed loses little of it."""


def run(
    tasks: Sequence[Task], cache: Place, workers: Workers, again: bool = False
) -> Iterator[Result]:
    """Compile tasks into a cache, and yield their results as they come.

    Variants that are in the cache and whole are not compiled again, unless `again` asks for it, and
    of tasks that ask for the same variant only the first is. A task that fails stops no other. The
    rows are written at the end, however that comes, and now and then before.

    PlanError or StoreError if the cache cannot be used, WorkerError if the workers cannot be.
    """
    rows = Rows(cache)
    saved = monotonic()
    # Fail now if nothing can be written, before anything is compiled.
    rows.write()
    try:
        for result in _results(tasks, cache, workers, rows, again):
            rows.add(result.row)
            if monotonic() - saved > SAVED_EVERY:
                rows.write()
                saved = monotonic()
            yield result
    finally:
        rows.write()


def _results(
    tasks: Sequence[Task], cache: Place, workers: Workers, rows: Rows, again: bool
) -> Iterator[Result]:
    equal: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        if task.unreadable:
            yield _failed(task, ModelError(task.unreadable))
        else:
            equal.setdefault((task.fingerprint, task.request), []).append(task)
    missing: list[Task] = []
    for first, *others in equal.values():
        found = None if again else _present(first, cache, rows)
        if found is None:
            missing.append(first)
        else:
            yield found
            yield from (_like(found, task) for task in others)
    for result in _all_written(workers.run(missing), cache):
        yield result
        others = equal[result.task.fingerprint, result.task.request][1:]
        yield from (_like(result, other) for other in others)


def _present(task: Task, cache: Place, rows: Rows) -> Result | None:
    """The result of a task whose variant is in the cache and whole; else None."""
    row = rows.find(task.fingerprint, task.request)
    name = row.variant if row else task.variant
    if not name:
        return None
    kept = cache.find(task.fingerprint, name)
    if kept is None:
        return None
    findings = (
        row.findings
        if row
        else tuple(
            Finding(part.operators[0], part.label, "it runs on LiteRT").as_dict()
            for part in kept.parts()
        )
    )
    return Result(task, "present", kept.path, findings, row.seconds if row else 0.0, kept.size)


def _all_written(outcomes: Iterator[tuple[Task, Outcome]], cache: Place) -> Iterator[Result]:
    """The results of tasks in the order of their outcomes, each once its variant is in the cache.

    Waiting for a disk or a network can take as long as compiling, so it is done meanwhile.
    """
    with ThreadPoolExecutor(WRITERS, "write") as writers:
        waiting: deque[Future[Result]] = deque()
        for task, outcome in outcomes:
            waiting.append(writers.submit(_written, task, outcome, cache))
            while waiting and (len(waiting) > WRITERS or waiting[0].done()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _written(task: Task, outcome: Outcome, cache: Place) -> Result:
    if isinstance(outcome, Built):
        compiled = outcome.compiled
        kept = cache.put(compiled)
        findings = tuple(item.as_dict() for item in compiled.fallback)
        return Result(
            *(task, "compiled", kept.path, findings, outcome.seconds, kept.size, compiled.report),
            plan=compiled.plan,
        )
    return _failed(task, outcome)


def _failed(task: Task, error: Exception) -> Result:
    findings = error.findings if isinstance(error, UnsupportedError) else ()
    found = tuple(item.as_dict() for item in findings)
    return Result(task, "failed", None, found, 0.0, 0, error=error)


def _like(result: Result, task: Task) -> Result:
    """The result of a task that asks for the variant of another one."""
    if result.status == "failed":
        return replace(result, task=task)
    return replace(result, task=task, status="present", report=None)
