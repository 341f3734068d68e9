"""A cluster: workers of Dask, in processes of this machine or wherever a scheduler has them.

Only as many tasks are under way as keep the workers busy, so that a thousand models need no more
memory than a few. What a lost worker was doing is done again by another one. Tasks travel in
batches: sending one by itself and getting its result takes as long as compiling a small model.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, inf
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any, Generic, TypeVar

from distributed import Client, Future, KilledWorker, WorkerPlugin
from tornado.ioloop import IOLoop

from ...runtime.errors import PlanError, TflgpuError
from ..errors import WorkerError
from .tasks import Task
from .workers import Failed

Item = TypeVar("Item")
Result = TypeVar("Result")

SETTINGS = {
    # The models travel in graphs.
    "distributed.admin.large-graph-warning-threshold": "1 TB",
    "distributed.deploy.lost-worker-timeout": "8s",
}
# How often a task is given to the scheduler, which by itself tries again when workers die. Dask
# does so three times. A task is also blamed for what another one on its worker has done, and so it
# is for whatever kills workers; a run survives ten such deaths wherever they happen.
ATTEMPTS = 3
# What the result of a task is if its worker was lost, and the next one, too.
LOST = (KilledWorker, futures.CancelledError)
PATIENCE = 30  # Seconds to wait for a scheduler, and while it has no workers.
ENDING = 10  # Seconds to wait for what is still under way when the event loop ends.
LOOK = 2  # Seconds between looks for schedulers and workers that are gone.
MOST = 16  # Tasks of a batch.
MOST_BYTES = 1 << 18  # Bytes of the models of a batch of several tasks.
# Batches for each worker that what is left would make, at least; so that all end together.
ROUNDS = 4
RESUME = "what was compiled is in the cache, and another run continues there"


@dataclass
class _Attempt(Generic[Item]):
    batch: Sequence[Item]
    # What it needs, which stays at the scheduler as long as this refers to it.
    held: Sequence[Future]
    number: int


class Connection(Client):  # type: ignore[misc]  # Dask is not typed
    """A client that whoever makes it closes, not the garbage collector.

    Dask's finalizer waits for a lock, and the collector may run in a thread that holds it: where a
    connection had failed, the next one could hang.
    """

    def __del__(self) -> None:
        pass


class Cluster:
    def __init__(self, client: Connection, name: str) -> None:
        """`name` is that of the scheduler, for messages."""
        self._client = client
        self._name = name
        self._lately, self._counted = 1, -inf

    def ask_each(self, function: Callable[[], Result]) -> Iterator[tuple[str, Result | Exception]]:
        """What a function returns or raises on each worker, with the worker's address."""
        # One that has just died is left out; what takes its place checks its version itself.
        for address, found in self._client.run(function, on_error="return").items():
            if not isinstance(found, OSError):
                yield address, found

    def announce(self, plugin: WorkerPlugin) -> None:
        """Give a plugin to each worker, also to those that join later."""
        self._client.register_plugin(plugin)

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        return self._client.submit(function, *arguments, pure=False, **options)

    def threads(self) -> int:
        """The threads of all workers lately, at least 1 (WorkerError if the scheduler is gone)."""
        if monotonic() - self._counted > LOOK:
            self._lately = max(1, self._threads())
            self._counted = monotonic()
        return self._lately

    def each(
        self,
        batches: Iterable[Sequence[Item]],
        start: Callable[[Sequence[Item]], Sequence[Future]],
        per_worker: int,
    ) -> Iterator[tuple[Item, Any]]:
        """Each item of the batches with its result or exception, as they come.

        `start` submits a batch and returns the future of its results, as many as it has items, and
        those of what it needs; it may raise a TflgpuError or OSError. The items of a batch that
        fails, such as for a lost worker, are started again one by one; an item that a worker was
        lost with is once more. WorkerError if the scheduler or all workers are gone.
        """
        waiting = iter(batches)
        alone: deque[Item] = deque()
        under_way: dict[Future, _Attempt[Item]] = {}
        done: Queue[Future] = Queue()

        def attempt(batch: Sequence[Item], number: int) -> Exception | None:
            try:
                future, *held = start(batch)
            except TflgpuError as error:
                return error
            except OSError as error:
                self._check_running(error)
                return error
            under_way[future] = _Attempt(batch, held, number)
            future.add_done_callback(done.put)
            return None

        def failed(batch: Sequence[Item], error: Exception) -> Iterator[tuple[Item, Any]]:
            if len(batch) == 1:
                yield batch[0], error
            else:
                alone.extend(batch)

        def refill() -> Iterator[tuple[Item, Any]]:
            room = per_worker * self.threads()
            while len(under_way) < room:
                batch = [alone.popleft()] if alone else next(waiting, None)
                if batch is None:
                    return
                if (error := attempt(batch, 1)) is not None:
                    yield from failed(batch, error)

        yield from refill()
        while under_way:
            future = self._next(done)
            ended = under_way.pop(future)
            result = self._result(future)
            if isinstance(result, LOST):
                if len(ended.batch) == 1 and ended.number < ATTEMPTS:
                    result = attempt(ended.batch, ended.number + 1)
                else:
                    result = WorkerError(f"every worker died that tried to compile it ({result})")
            if isinstance(result, Exception):
                yield from failed(ended.batch, result)
            elif result is not None:
                yield from zip(ended.batch, result, strict=True)
            yield from refill()

    def outcomes(
        self,
        tasks: Iterable[Task],
        start: Callable[[Sequence[Task]], Sequence[Future]],
        per_worker: int,
    ) -> Iterator[tuple[Task, Any]]:
        """Each task, in batches as for `each`, with its outcome (PlanError, WorkerError)."""
        for task, outcome in self.each(batches(tasks, self.threads()), start, per_worker):
            if isinstance(outcome, PlanError):
                raise outcome
            yield task, Failed(outcome) if isinstance(outcome, Exception) else outcome

    def _next(self, done: Queue[Future]) -> Future:
        """The next future that is done (WorkerError if there is nobody left to do any)."""
        idle = 0
        while True:
            try:
                return done.get(timeout=LOOK)
            except Empty:
                idle = 0 if self._threads() else idle + LOOK
            if idle > PATIENCE:
                raise WorkerError(f"{self._name} has no workers any more; {RESUME}")

    def _threads(self) -> int:
        """The threads of all workers (WorkerError if the scheduler is gone)."""
        self._check_running()
        try:
            return sum(self._client.nthreads().values())
        except OSError as error:
            raise self._gone() from error

    def _check_running(self, cause: Exception | None = None) -> None:
        """WorkerError if the scheduler is gone."""
        if self._client.status != "running":
            raise self._gone() from cause

    def _result(self, future: Future) -> Any:
        """The result or exception of an attempt (WorkerError if the scheduler is gone)."""
        try:
            return future.result()
        except LOST as error:
            self._check_running(error)
            return error
        except Exception as error:
            # What the task raised may be an OSError as well as what a lost connection is.
            if isinstance(error, OSError) and future.status != "error":
                raise self._gone() from error
            return error

    def _gone(self) -> WorkerError:
        return WorkerError(f"{self._name} is gone; {RESUME}")


def batches(tasks: Iterable[Task], workers: int) -> Iterator[list[Task]]:
    """Tasks in batches for so many workers, those of large models first and alone.

    Compiling a large model takes longest, and the last batches are the smallest: at the end, no
    worker waits long for another one.
    """
    left = deque(sorted(((_size(task), task) for task in tasks), key=lambda each: -each[0]))
    while left:
        most = min(MOST, ceil(len(left) / (ROUNDS * workers)))
        size, task = left.popleft()
        batch = [task]
        while left and len(batch) < most and size + left[0][0] <= MOST_BYTES:
            more, task = left.popleft()
            size += more
            batch.append(task)
        yield batch


def _size(task: Task) -> int:
    try:
        return task.model.stat().st_size
    except OSError:
        return 0  # whoever compiles it says why


@contextmanager
def running_loop() -> Iterator[IOLoop]:
    """The event loop of a cluster, in a thread of its own (WorkerError).

    One of Dask's own must start within ten seconds, or an assertion fails: too few where the
    machine has much else to do. This is waited for until it runs.
    """
    started = futures.Future[tuple[IOLoop, asyncio.Event]]()

    async def until_ended() -> None:
        ended = asyncio.Event()
        started.set_result((IOLoop.current(), ended))
        await ended.wait()

    def run() -> None:
        try:
            asyncio.run(until_ended())
        except OSError as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = Thread(target=run, daemon=True, name="event loop of a cluster")
    try:
        thread.start()
        loop, ended = started.result()
    except (OSError, RuntimeError) as error:
        raise WorkerError(f"cannot start an event loop for Dask: {error}") from error
    try:
        yield loop
    finally:
        loop.add_callback(ended.set)
        thread.join(ENDING)
