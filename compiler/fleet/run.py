"""A run: compiles the tasks that a place lacks, and records what became of all of them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from time import monotonic

from ...runtime.errors import TflgpuError
from ..errors import EstimateWarning, Finding, ModelError, ModelFileError, UnsupportedError
from ..telling import tell
from .place import Place
from .result import Result, Row
from .tasks import Task
from .workers import Failed, Workers, Written

# Seconds after which rows are saved, so that a run that is killed loses few of them.
SAVED_EVERY = 5.0


class Rows:
    """The rows of a place, to which a run adds its own."""

    def __init__(self, place: Place) -> None:
        """Read the rows, if there are any (PlanError, StoreError)."""
        self._place = place
        self._added: list[Row] = []
        self._saved = monotonic()
        # Fail now if nothing can be written, before anything is compiled.
        place.add_rows(())
        rows = sorted(place.read_rows(), key=lambda row: (bool(row.variant), row.time))
        self._before = {(row.fingerprint, row.request): row for row in rows}

    def find(self, fingerprint: str, request: str) -> Row | None:
        """The newest row for the same content and request, one with a variant first."""
        return self._before.get((fingerprint, request))

    def add(self, row: Row) -> None:
        """Add a row, and save it with the next ones (PlanError, StoreError)."""
        self._added.append(row)
        if monotonic() - self._saved > SAVED_EVERY:
            self.save()

    def save(self) -> None:
        """Write the rows that were added since the last time (PlanError, StoreError)."""
        if self._added:
            self._place.add_rows(self._added)
            self._added = []
        self._saved = monotonic()


READERS = 8  # Variants that are looked at at a time, since a place may be far away.


def run(
    tasks: Sequence[Task], place: Place, workers: Workers, again: bool = False
) -> Iterator[Result]:
    """Compile tasks into a place, and yield their results as they come.

    Variants that are there and whole are not compiled again, and models that cannot be compiled
    are not tried again, unless `again` asks for it; of tasks that ask for the same variant only the
    first is. A task that fails stops no other. The rows are written at the end, however that comes,
    and now and then before.

    PlanError or StoreError if the place cannot be used, WorkerError if the workers cannot be.
    """
    rows = Rows(place)
    try:
        for result in _results(tasks, place, workers, rows, again):
            rows.add(result.row)
            yield result
    finally:
        rows.save()


def _results(
    tasks: Sequence[Task], place: Place, workers: Workers, rows: Rows, again: bool
) -> Iterator[Result]:
    equal: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        if task.unreadable:
            yield _failed(task, Failed(ModelFileError(task.unreadable)))
        else:
            equal.setdefault((task.fingerprint, task.request), []).append(task)

    def look(task: Task) -> Result | None:
        return None if again else _known(task, place, rows, workers.litert)

    missing: list[Task] = []
    with ThreadPoolExecutor(READERS, "read") as readers:
        for found, (first, *others) in zip(
            readers.map(look, [each[0] for each in equal.values()]), equal.values(), strict=True
        ):
            if found is None:
                missing.append(first)
            else:
                yield found
                yield from (_like(found, task) for task in others)
    for task, outcome in workers.run(missing, place):
        if isinstance(outcome, Failed):
            result = _failed(task, outcome)
        else:
            result = _compiled(task, outcome)
            for warning in outcome.warnings:
                tell(warning)
        yield result
        others = equal[task.fingerprint, task.request][1:]
        yield from (_like(result, other) for other in others)


def _known(task: Task, place: Place, rows: Rows, litert: str) -> Result | None:
    """The result of a task whose variant is there, or that would fail as before; else None."""
    row = rows.find(task.fingerprint, task.request)
    if row is not None and not row.variant:
        if row.litert and row.litert == litert:
            return _failed(task, Failed(_naming(task, row.model, _error(row)), row.litert))
        row = None
    name = row.variant if row else task.variant
    if not name:
        return None
    kept = place.find(task.fingerprint, name, row.stamp if row else "")
    if kept is None:
        return None
    findings = (
        row.findings
        if row
        else tuple(
            Finding(part.operators[0], part.label, "it runs on LiteRT").as_dict()
            for part in place.plan(task.fingerprint, name).parts
        )
    )
    seconds = row.seconds if row else 0.0
    return Result(task, "present", kept.path, findings, seconds, kept.size, kept.stamp)


def _error(row: Row) -> ModelError | UnsupportedError:
    if row.findings:
        return UnsupportedError([Finding(**item) for item in row.findings])
    return ModelError(row.error)


def _naming(task: Task, model: str, error: Exception) -> Exception:
    """The error of an equal model in another file, as one of this task's file."""
    if not isinstance(error, TflgpuError):
        return error
    named = copy(error)
    named.args = tuple(
        item.replace(model, str(task.model)) if isinstance(item, str) else item
        for item in error.args
    )
    return named


def _compiled(task: Task, outcome: Written) -> Result:
    kept = outcome.kept
    findings = tuple(item.as_dict() for item in outcome.fallback)
    return Result(
        task,
        "compiled",
        kept.path,
        findings,
        outcome.seconds,
        kept.size,
        kept.stamp,
        report=outcome.report,
        estimated=any(isinstance(each, EstimateWarning) for each in outcome.warnings),
    )


def _failed(task: Task, outcome: Failed) -> Result:
    error = outcome.error
    findings = error.findings if isinstance(error, UnsupportedError) else ()
    found = tuple(item.as_dict() for item in findings)
    return Result(task, "failed", None, found, 0.0, 0, error=error, litert=outcome.litert)


def _like(result: Result, task: Task) -> Result:
    """The result of a task that asks for the variant of another one."""
    if result.error is not None:
        named = _naming(task, str(result.task.model), result.error)
        return replace(result, task=task, error=named)
    return replace(result, task=task, status="present", report=None)
