"""A cluster: workers of Dask, in processes of this machine or wherever a scheduler has them.

A model travels to the scheduler once, by its content, and from there to the workers that need it.
Only as many tasks are under way as keep the workers busy, so that a thousand models need no more
memory than a few. What a lost worker was doing is done again by another one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from ...runtime.errors import TflgpuError
from ..emit.version import compiler_version
from ..errors import ModelError, OptionError, WorkerError
from ..pipeline import digest_of
from .parcel import compile_parcel, pack, unequal
from .tasks import Task
from .workers import Outcome

try:
    from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
except ImportError as missing:
    raise OptionError(
        f"several jobs and schedulers need Dask, which cannot be imported ({missing}): "
        "pip install 'tflgpu[fleet]'"
    ) from missing

PER_WORKER = 2
"""Tasks under way for each thread of a worker: one that runs, and one that waits."""
ATTEMPTS = 4
"""How often a task is given to the scheduler, which by itself tries again when a worker dies."""
PATIENCE = 30
"""Seconds to wait for a scheduler and for its first worker."""


@contextmanager
def cluster(jobs: int, scheduler: str) -> Iterator[Cluster]:
    """The workers of a scheduler, or `jobs` processes of this machine (OptionError, WorkerError).

    Workers with another version of the compiler are a WorkerError.
    """
    if scheduler and jobs > 1:
        raise OptionError("a scheduler has workers of its own; leave out the number of jobs")
    with ExitStack() as stack:
        if scheduler:
            client = _client(scheduler)
        else:
            local = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
            client = Client(stack.enter_context(local), set_as_default=False)
        found = Cluster(stack.enter_context(client), scheduler)
        found.check()
        yield found


def _client(scheduler: str) -> Client:
    """A client of a scheduler with at least one worker (WorkerError)."""
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"there is no scheduler at {scheduler} ({error}); start one with: dask scheduler"
        ) from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        client.close()
        raise WorkerError(
            f"the scheduler at {scheduler} has no workers; start one with: dask worker {scheduler}"
        ) from error
    return client


@dataclass
class _Attempt:
    """A task that is under way."""

    task: Task
    model: Future
    """The content of its model, which stays on the workers as long as this refers to it."""
    number: int


class Cluster:
    """The workers of a scheduler."""

    def __init__(self, client: Client, scheduler: str) -> None:
        self.client = client
        self._name = f"the scheduler at {scheduler}" if scheduler else "the local scheduler"
        self._models: WeakValueDictionary[str, Future] = WeakValueDictionary()

    def check(self) -> None:
        """WorkerError that names each worker with another version of the compiler, or none."""
        wanted, problems = compiler_version(), []
        for address, found in self.client.run(compiler_version, on_error="return").items():
            if isinstance(found, Exception):
                problems.append(f"worker {address}: it has no tflgpu ({found})")
            elif found != wanted:
                problems.append(f"worker {address}: {unequal(found, wanted)}")
        if problems:
            raise WorkerError("\n".join(problems))

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Each task with its outcome, as they come (WorkerError if the scheduler is gone)."""
        waiting = iter(tasks)
        under_way: dict[Future, _Attempt] = {}
        completed = as_completed(loop=self.client.loop)

        def start(task: Task, number: int) -> Exception | None:
            try:
                model = self._model(task)
                parcel = pack(task)
            except TflgpuError as error:
                return error
            future = self.client.submit(compile_parcel, parcel, model, pure=False)
            under_way[future] = _Attempt(task, model, number)
            completed.add(future)
            return None

        def refill() -> Iterator[tuple[Task, Outcome]]:
            room = PER_WORKER * max(1, sum(self.client.nthreads().values()))
            while len(under_way) < room and (task := next(waiting, None)) is not None:
                if (error := start(task, 1)) is not None:
                    yield task, error

        yield from refill()
        for future in completed:
            attempt = under_way.pop(future)
            outcome = self._outcome(future, attempt)
            if outcome is None:
                outcome = start(attempt.task, attempt.number + 1)
            if outcome is not None:
                yield attempt.task, outcome
            yield from refill()

    def _model(self, task: Task) -> Future:
        """The content of a task's model on the workers (ModelError if it is not as it was)."""
        found = self._models.get(task.fingerprint)
        if found is None or found.status in ("lost", "cancelled"):
            content = task.model.read_bytes()
            if digest_of(content) != task.fingerprint:
                raise ModelError(f"{task.model} has changed since the run began; run it again")
            found = self.client.scatter(content, hash=True)
            self._models[task.fingerprint] = found
        return found

    def _outcome(self, future: Future, attempt: _Attempt) -> Outcome | None:
        """What became of an attempt; None if there should be another one."""
        try:
            outcome: Outcome = future.result()
            return outcome
        except (KilledWorker, CancelledError) as error:
            # Cancelled is a task whose model was on the worker that died, or that has lost
            # its scheduler.
            if self.client.status != "running":
                raise WorkerError(
                    f"{self._name} is gone; what it has compiled is in the store, and another run "
                    f"continues there"
                ) from error
            if attempt.number < ATTEMPTS:
                return None
            return WorkerError(f"every worker died that tried to compile it ({error})")
        except Exception as error:
            return error
