"""A cluster: workers of Dask, in processes of this machine or wherever a scheduler has them.

Only as many tasks are under way as keep the workers busy, so that a thousand models need no more
memory than a few. What a lost worker was doing is done again by another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from math import inf
from queue import Empty, Queue
from time import monotonic
from typing import Any, Generic, TypeVar

from distributed import Client, Future, KilledWorker

from ...runtime.errors import TflgpuError
from ..errors import WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

SETTINGS = {
    # The models travel in graphs.
    "distributed.admin.large-graph-warning-threshold": "1 TB",
    "distributed.deploy.lost-worker-timeout": "8s",
}
ATTEMPTS = 2
"""How often a task is given to the scheduler, which by itself tries again when a worker dies.

More than once, since a task is also blamed for what another one on its worker has done.
"""
PATIENCE = 30
"""Seconds to wait for a scheduler, and while it has no workers."""

LOOK = 2
"""Seconds between looks for schedulers and workers that are gone."""
RESUME = "what was compiled is in the cache, and another run continues there"


@dataclass
class _Attempt(Generic[Item]):
    """Something that is under way."""

    item: Item
    held: Sequence[Future]
    """What it needs, which stays at the scheduler as long as this refers to it."""
    number: int


class Cluster:
    """A scheduler of Dask and its workers."""

    def __init__(self, client: Client, name: str) -> None:
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

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        return self._client.submit(function, *arguments, pure=False, **options)

    def each(
        self, items: Iterable[Item], start: Callable[[Item], Sequence[Future]], per_worker: int
    ) -> Iterator[tuple[Item, Any]]:
        """Each item with its result or exception, as they come.

        `start` submits an item and returns the future of its result, and those of what it needs;
        a TflgpuError or OSError that it raises is the item's. An item that a worker was lost with
        is started again. WorkerError if the scheduler or all workers are gone.
        """
        waiting = iter(items)
        under_way: dict[Future, _Attempt[Item]] = {}
        done: Queue[Future] = Queue()

        def attempt(item: Item, number: int) -> Exception | None:
            try:
                future, *held = start(item)
            except TflgpuError as error:
                return error
            except OSError as error:
                self._check_running(error)
                return error
            under_way[future] = _Attempt(item, held, number)
            future.add_done_callback(done.put)
            return None

        def refill() -> Iterator[tuple[Item, Any]]:
            room = per_worker * self._threads_lately()
            if len(under_way) >= room:
                return
            for item in waiting:
                if (error := attempt(item, 1)) is not None:
                    yield item, error
                elif len(under_way) >= room:
                    return

        yield from refill()
        while under_way:
            future = self._next(done)
            ended = under_way.pop(future)
            result = self._result(future, ended.number)
            if result is None:
                result = attempt(ended.item, ended.number + 1)
            if result is not None:
                yield ended.item, result
            yield from refill()

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

    def _threads_lately(self) -> int:
        """The threads of all workers not long ago, at least 1, without asking each time."""
        if monotonic() - self._counted > LOOK:
            self._lately = max(1, self._threads())
            self._counted = monotonic()
        return self._lately

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

    def _result(self, future: Future, number: int) -> Any:
        """The result or exception of an attempt; None if there should be another one."""
        try:
            return future.result()
        except (KilledWorker, CancelledError) as error:
            self._check_running(error)
            if number < ATTEMPTS:
                return None
            return WorkerError(f"every worker died that tried to compile it ({error})")
        except Exception as error:
            # What the task raised may be an OSError as well as what a lost connection is.
            if isinstance(error, OSError) and future.status != "error":
                raise self._gone() from error
            return error

    def _gone(self) -> WorkerError:
        return WorkerError(f"{self._name} is gone; {RESUME}")
