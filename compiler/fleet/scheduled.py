"""The workers of a scheduler, wherever they are; they need none of this machine's files."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from weakref import WeakValueDictionary

from dask import config
from distributed import Future
from distributed.comm import resolve_address
from distributed.security import Security
from distributed.utils import silence_logging_cmgr
from tornado.ioloop import IOLoop

from ...runtime.cache.folder import fingerprint
from ..errors import ModelFileError, WorkerError
from ..version import compiler_version
from .cluster import PATIENCE, SETTINGS, Cluster, Connection, running_loop
from .parcel import compile_parcels, pack, unequal, versions
from .place import Place
from .tasks import Task
from .workers import Failed, Written, all_written

# Of addresses of schedulers; the last is that of one in this process.
PROTOCOLS = ("tcp", "tls", "inproc")
# Batches under way for each thread of a worker: one that runs, and those that wait for it. They
# last while this process is busy writing what others have compiled.
PER_WORKER = 4


@contextmanager
def scheduled(scheduler: str) -> Iterator[Scheduled]:
    """The workers of a scheduler, which must have this version of the compiler (WorkerError).

    What Dask logs of a scheduler that is lost, with a traceback, the errors say.
    """
    silent = silence_logging_cmgr(logging.CRITICAL)
    with silent, config.set(SETTINGS), running_loop() as loop, _client(scheduler, loop) as client:
        yield Scheduled(Cluster(client, f"the scheduler at {scheduler}"))


def _client(scheduler: str, loop: IOLoop) -> Connection:
    """A client of a scheduler with at least one worker (WorkerError)."""
    try:
        _check_address(scheduler)
        client = Connection(scheduler, timeout=PATIENCE, set_as_default=False, loop=loop)
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


def _check_address(scheduler: str) -> None:
    """OSError or ValueError for an address of nothing, whose client would hang for a minute."""
    protocol, named, _ = scheduler.partition("://")
    if named and protocol not in PROTOCOLS:
        raise ValueError(f"{protocol} is none of the protocols {', '.join(PROTOCOLS)}")
    resolve_address(scheduler)
    certificates = Security().get_connection_args("client").get("ssl_context")
    if protocol == "tls" and certificates is None:
        raise ValueError("TLS needs certificates, which distributed.comm.tls of Dask names")


class Scheduled:
    """The workers of a scheduler, to which a model travels once, by its content."""

    def __init__(self, cluster: Cluster) -> None:
        """WorkerError that names each worker with another version of the compiler, or none."""
        self.cluster = cluster
        self.litert = self._check()
        self._models: WeakValueDictionary[str, Future] = WeakValueDictionary()

    def _check(self) -> str:
        """The version of LiteRT; empty if it differs (WorkerError)."""
        wanted, problems, litert = compiler_version(), [], set()
        for address, found in self.cluster.ask_each(versions):
            if isinstance(found, Exception):
                problems.append(f"worker {address}: it has no tflgpu ({found})")
                continue
            compiler, version = found
            if compiler != wanted:
                problems.append(f"worker {address}: {unequal(compiler, wanted)}")
            litert.add(version)
        if problems:
            raise WorkerError("\n".join(problems))
        return litert.pop() if len(litert) == 1 else ""

    def run(self, tasks: Sequence[Task], place: Place) -> Iterator[tuple[Task, Written | Failed]]:
        """Each task with its outcome, as they come (PlanError, StoreError, WorkerError)."""

        def start(batch: Sequence[Task]) -> tuple[Future, ...]:
            models = [self.model(task) for task in batch]
            parcels = [pack(task) for task in batch]
            return self.cluster.submit(compile_parcels, parcels, models), *models

        return all_written(self.cluster.outcomes(tasks, start, PER_WORKER), place)

    def model(self, task: Task) -> Future:
        """The content of a task's model, at the scheduler (ModelError if it is not as it was)."""
        found = self._models.get(task.fingerprint)
        if found is None:
            # As a task, and not scattered, which would leave it on one worker, to be lost with it.
            key = f"model-{task.fingerprint}"
            found = self.cluster.submit(bytes, _content(task), key=key)
            self._models[task.fingerprint] = found
        return found


def _content(task: Task) -> bytes:
    try:
        content = task.model.read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read the model {task.model}: {error.strerror}") from error
    if fingerprint(content) != task.fingerprint:
        raise ModelFileError(f"{task.model} has changed since the run began; run it again")
    return content
