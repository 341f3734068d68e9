"""A cluster: workers of Dask, in processes of this machine or wherever a scheduler has them.

A model travels to the scheduler once, by its content, and from there to the workers that need it.
Only as many tasks are under way as keep the workers busy, so that a thousand models need no more
memory than a few. What a lost worker was doing is done again by another one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from ...runtime.errors import TflgpuError
from ...runtime.store.cache import fingerprint
from ..emit.version import compiler_version
from ..errors import ModelError, OptionError, WorkerError
from .parcel import compile_parcel, pack, unequal, version_here
from .tasks import Task
from .workers import Outcome

try:
    from dask import config
    from distributed import Client, Future, KilledWorker, LocalCluster, WorkerPlugin
    from tornado.ioloop import PeriodicCallback
except ImportError as missing:
    raise OptionError(
        f"several jobs and schedulers need Dask, which cannot be imported ({missing}): "
        "pip install 'tflgpu[fleet]'"
    ) from missing

Item = TypeVar("Item")
Result = TypeVar("Result")

PER_WORKER = 2
"""Tasks under way for each thread of a worker: one that runs, and one that waits."""
SETTINGS = {
    # The models travel in graphs.
    "distributed.admin.large-graph-warning-threshold": "1 TB",
    "distributed.deploy.lost-worker-timeout": "8s",
    # Of a local scheduler; any other has its own setting.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
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


@contextmanager
def cluster(jobs: int, scheduler: str) -> Iterator[Cluster]:
    """The workers of a scheduler, or `jobs` processes of this machine (OptionError, WorkerError).

    Workers with another version of the compiler are a WorkerError.
    """
    if scheduler and jobs > 1:
        raise OptionError("a scheduler has workers of its own; leave out the number of jobs")
    with ExitStack() as stack:
        stack.enter_context(config.set(SETTINGS))
        if scheduler:
            client = _client(scheduler)
        else:
            client = Client(stack.enter_context(_local(jobs)), set_as_default=False)
        found = Cluster(stack.enter_context(client), scheduler)
        found.check()
        yield found


@contextmanager
def _local(jobs: int) -> Iterator[LocalCluster]:
    """Processes of this machine, each with a thread (WorkerError).

    Other users of the machine reach their ports, but have no certificate, without which Dask would
    execute what anyone sends.
    """
    try:
        local = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            security=True,
            # A port that is free, rather than a warning that the usual one is not.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise WorkerError(f"cannot start {jobs} processes: {error}") from error
    with local:
        # A process that is killed is started again by its nanny, unless that happens while it
        # starts; then the cluster has to.
        strength = PeriodicCallback(lambda: local.scale(jobs), LOOK * 1000)
        local.loop.add_callback(strength.start)
        yield local
        local.loop.add_callback(strength.stop)


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
class _Attempt(Generic[Item]):
    """Something that is under way."""

    item: Item
    held: Sequence[Future]
    """What it needs, which stays at the scheduler as long as this refers to it."""
    number: int


class Cluster:
    """The workers of a scheduler."""

    def __init__(self, client: Client, scheduler: str) -> None:
        self._client = client
        self._name = f"the scheduler at {scheduler}" if scheduler else "the local scheduler"
        self._models: WeakValueDictionary[str, Future] = WeakValueDictionary()

    def check(self) -> None:
        """WorkerError that names each worker with another version of the compiler, or none."""
        wanted, problems = compiler_version(), []
        for address, found in self._on_each(version_here):
            if isinstance(found, Exception):
                problems.append(f"worker {address}: it has no tflgpu ({found})")
            elif found != wanted:
                problems.append(f"worker {address}: {unequal(found, wanted)}")
        if problems:
            raise WorkerError("\n".join(problems))

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Each task with its outcome, as they come (WorkerError if the scheduler is gone)."""

        def start(task: Task) -> tuple[Future, ...]:
            model = self.model(task)
            return self.submit(compile_parcel, pack(task), model), model

        return self.each(tasks, start, PER_WORKER)

    def on_each(self, function: Callable[[], Result]) -> dict[str, Result]:
        """What a function returns on each worker, by the worker's address (WorkerError)."""
        found: dict[str, Result] = {}
        for address, result in self._on_each(function):
            if isinstance(result, Exception):
                raise WorkerError(f"worker {address}: {result}") from result
            found[address] = result
        return found

    def _on_each(self, function: Callable[[], Result]) -> Iterator[tuple[str, Result | Exception]]:
        # One that has just died is left out; what takes its place checks its version itself.
        for address, found in self._client.run(function, on_error="return").items():
            if not isinstance(found, OSError):
                yield address, found

    def announce(self, plugin: WorkerPlugin) -> None:
        """Give a plugin to each worker, also to those that join later."""
        self._client.register_plugin(plugin)

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        return self._client.submit(function, *arguments, pure=False, **options)

    def model(self, task: Task) -> Future:
        """The content of a task's model, at the scheduler (ModelError if it is not as it was)."""
        found = self._models.get(task.fingerprint)
        if found is None:
            # As a task, and not scattered, which would leave it on one worker, to be lost with it.
            key = f"model-{task.fingerprint}"
            found = self._client.submit(_same, _content(task), key=key)
            self._models[task.fingerprint] = found
        return found

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
            room = per_worker * max(1, self._threads())
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


def _content(task: Task) -> bytes:
    try:
        content = task.model.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the model {task.model}: {error.strerror}") from error
    if fingerprint(content) != task.fingerprint:
        raise ModelError(f"{task.model} has changed since the run began; run it again")
    return content


def _same(content: bytes) -> bytes:
    return content
