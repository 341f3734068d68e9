"""`compile_many`, the entry point for programs that compile many models for many devices."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...runtime.remote.keys import Ask, SigningKey
from ...runtime.remote.store import Store
from ...runtime.remote.url import is_url
from ..arguments import listed
from ..errors import OptionError
from ..keep_f32 import TOLERANCE
from ..options import Options, Precision
from ..telling import Progress, silent
from .models import find_models
from .place import Folder, Place, Remote
from .result import Result
from .run import run
from .tasks import for_each, matrix
from .workers import Here, Workers

DEFAULTS = Options()


def compile_many(
    models: Iterable[str | os.PathLike[str]],
    cache: str | os.PathLike[str],
    *,
    devices: Sequence[str] = ("auto",),
    precisions: Sequence[Precision] = ("f32",),
    options: Options = DEFAULTS,
    tolerance: float = TOLERANCE,
    jobs: int = 1,
    scheduler: str = "",
    sign: str | os.PathLike[str] = "",
) -> Iterator[Result]:
    """Compile each model for each device with each precision, and yield the results as they come.

    What is in the cache already, by content, is not compiled again. A model that fails gives a
    result with its `error`, and stops no other. The cache's manifest.json records all
    results, or the folder rows/ of a store.

    Args:
        models: Files, folders, patterns, and lists as "@file"; see `models.find_models`.
        cache: The cache folder, created if it does not exist, or the URL of a store.
        devices: As the `device` of `tflgpu.compile`.
        precisions: As the `precision` of `tflgpu.compile`.
        options: All other options; its device and precision do not count.
        tolerance: For options with keep_f32=("auto",), as in `tflgpu.compile`.
        jobs: How many processes compile. With more than one, a script needs the usual
            `if __name__ == "__main__":` of multiprocessing.
        scheduler: The address of a scheduler of Dask, such as "tcp://host:8786", whose workers
            compile instead.
        sign: For a store: the file of the ed25519 key that signs each variant. It must not have a
            passphrase, for which only `tflgpu compile` on a terminal asks.

    Raises, at the first result or later:
        ModelError: An argument stands for no model.
        OptionError: An option is wrong for all models, or the extra `fleet` is not installed.
        DeviceError: There is no such device.
        PlanError: The cache cannot be used.
        StoreError: The store or the key cannot be used.
        WorkerError: The scheduler or its workers cannot be used, or are gone.
    """
    files = find_models(listed("models", models))
    devices, precisions = listed("devices", devices), listed("precisions", precisions)
    columns = for_each(replace(options, keep_f32=()), devices, precisions, options.keep_f32)
    where = place(cache, sign)
    tasks = matrix(files, columns, tolerance)
    with workers(jobs, scheduler) as used:
        yield from run(tasks, where, used)


@contextmanager
def workers(jobs: int, scheduler: str, progress: Progress | None = None) -> Iterator[Workers]:
    """This process for one job, else a cluster (OptionError, WorkerError).

    `progress` is told the stages of what is compiled in this process.
    """
    if jobs < 1:
        raise OptionError(f"jobs={jobs}: give at least 1")
    if jobs == 1 and not scheduler:
        yield Here(progress or silent)
        return
    if scheduler and jobs > 1:
        raise OptionError("a scheduler has workers of its own; leave out the number of jobs")
    require_dask()
    if scheduler:
        from .scheduled import scheduled

        with scheduled(scheduler) as found:
            yield found
    else:
        from .processes import processes

        with processes(jobs) as started:
            yield started


def require_dask() -> None:
    """OptionError unless Dask, which only several processes need, is installed."""
    try:
        import distributed  # noqa: F401
    except ImportError as missing:
        raise OptionError(
            f"several jobs and schedulers need Dask, which cannot be imported ({missing}): "
            "pip install 'tflgpu[fleet]'"
        ) from missing


def place(
    cache: str | os.PathLike[str], sign: str | os.PathLike[str] = "", ask: Ask | None = None
) -> Place:
    """The place that a path or a URL means; `sign` is the file of a key for a store.

    `ask` asks for the key's passphrase, if it has one.
    OptionError if a key is given for a folder, StoreError if the store or the key cannot be used.
    """
    if is_url(cache):
        store = Store(cache)
        store.check_writable()
        return Remote(store, SigningKey(sign, ask) if sign else None)
    if sign:
        raise OptionError(f"{os.fspath(cache)} is a folder; only what goes to a URL is signed")
    return Folder(Path(cache))
