"""Processes of this machine, which compile tasks and write the variants into its files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from dask import config
from distributed import Future, LocalCluster, secede
from tornado.ioloop import PeriodicCallback

from ..errors import WorkerError
from ..litert.reference import litert_version
from .cluster import LOOK, SETTINGS, Cluster, Connection, running_loop
from .place import Place
from .tasks import Task
from .workers import Built, Failed, Written, all_written, compile_task

OWN_SETTINGS = {
    **SETTINGS,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Nobody looks at these measurements.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1s",
    # Dask also has the C library give memory back at once, of which a compilation needs as much
    # again a moment later: a quarter of its time.
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1
    ),
}
# Batches under way for each process: one is compiled, one waits, and one is being written.
PER_WORKER = 3


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """So many processes, each with a thread, which start once there is something to compile."""
    with ExitStack() as started:
        yield Processes(lambda: started.enter_context(_cluster(jobs)))


@contextmanager
def _cluster(jobs: int) -> Iterator[Cluster]:
    """A scheduler with processes of this machine (WorkerError).

    Other users of the machine reach their ports, but have no certificate, without which Dask would
    execute what anyone sends.
    """
    with config.set(OWN_SETTINGS), ExitStack() as started:
        try:
            local = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                # As much as there is, as without other processes; nobody looks how much it is.
                memory_limit=None,
                security=True,
                # A port that is free, rather than a warning that the usual one is not.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                loop=started.enter_context(running_loop()),
            )
        except (OSError, RuntimeError) as error:
            raise WorkerError(f"cannot start {jobs} processes: {error}") from error
        started.enter_context(local)
        # A process that is killed is started again by its nanny, unless that happens while it
        # starts; then the cluster has to.
        strength = PeriodicCallback(lambda: local.scale(jobs), LOOK * 1000)
        local.loop.add_callback(strength.start)
        with Connection(local, set_as_default=False) as client:
            yield Cluster(client, "the local scheduler")
        local.loop.add_callback(strength.stop)


class Processes:
    """Processes that read the files of tasks themselves."""

    def __init__(self, start: Callable[[], Cluster]) -> None:
        """`start` starts the processes (WorkerError)."""
        self.litert = litert_version()
        self._start = start

    def run(self, tasks: Sequence[Task], place: Place) -> Iterator[tuple[Task, Written | Failed]]:
        """Each task with its outcome, as they come (PlanError, StoreError, WorkerError)."""
        if not tasks:
            return iter(())
        cluster = self._start()
        work, *more = (_compile_and_write, place) if place.shared else (_compile,)

        def start(batch: Sequence[Task]) -> tuple[Future, ...]:
            return (cluster.submit(work, batch, *more),)

        found = cluster.outcomes(tasks, start, PER_WORKER)
        return found if place.shared else all_written(found, place)


def _compile(tasks: Sequence[Task]) -> list[Built | Failed]:
    return [compile_task(task) for task in tasks]


def _compile_and_write(tasks: Sequence[Task], place: Place) -> list[Written | Failed]:
    """PlanError if the place cannot be written, which ends the run."""

    def outcomes() -> Iterator[tuple[Task, Built | Failed]]:
        for task in tasks:
            yield task, compile_task(task)
        # The next batch begins while this one waits for the disk.
        secede()

    return [outcome for _, outcome in all_written(outcomes(), place)]
