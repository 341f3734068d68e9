"""Parcels: tasks as they travel to other processes, which need no file of this machine."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import gethostname
from typing import Any

from ...runtime.errors import TflgpuError
from ..devices import names_profile, profiles
from ..errors import OptionError, WorkerError
from ..litert.child import Child
from ..litert.reference import litert_version
from ..options import Options
from ..scratch import scratch_folder
from ..version import compiler_version
from .tasks import Task
from .workers import Built, Failed, compile_file, failed


@dataclass(frozen=True)
class Parcel:
    """A task without its model, which travels by itself since several tasks share it."""

    model: str  # The path of the model's file where it came from; plans record its name.
    options: Options
    # The content of the files that the options name, by the field that names them.
    files: Mapping[str, bytes]
    tolerance: float
    compiler: str  # The version of the compiler that is to compile it.


def pack(task: Task) -> Parcel:
    """The parcel of a task (OptionError if a file that its options name cannot be read)."""
    options = task.options
    named = {"tuning": options.tuning}
    if names_profile(options.device) and options.device not in profiles():
        named["device"] = options.device
    files = {field: _file(Path(path)) for field, path in named.items() if path}
    return Parcel(str(task.model), options, files, task.tolerance, compiler_version())


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror or error}") from error


def compile_parcels(parcels: Sequence[Parcel], models: Sequence[bytes]) -> list[Built | Failed]:
    """Compile parcels with the content of each one's model, on a worker."""
    return [_compiled(*each) for each in zip(parcels, models, strict=True)]


def _compiled(parcel: Parcel, model: bytes) -> Built | Failed:
    before = Child.unanswered
    try:
        with unpacked(parcel, model) as (path, options):
            return compile_file(path, options, parcel.tolerance)
    except Exception as error:
        return failed(error, before)


@contextmanager
def unpacked(parcel: Parcel, model: bytes) -> Iterator[tuple[Path, Options]]:
    """The model and the options of a parcel as files of a worker, while the block runs.

    Errors in the block name the files as they were given. WorkerError if this worker has another
    version of the compiler, or its system fails, such as for a full disk.
    """
    if compiler_version() != parcel.compiler:
        raise WorkerError(unequal(compiler_version(), parcel.compiler))
    with _worker_named(), scratch_folder() as folder:
        options, given = parcel.options, {}
        for field, content in parcel.files.items():
            path = _written(folder / field, getattr(options, field), content)
            given[path] = getattr(options, field)
            changed: dict[str, Any] = {field: str(path)}
            options = replace(options, **changed)
        path = _written(folder / "model", parcel.model, model)
        given[path] = parcel.model
        try:
            yield path, options
        except TflgpuError as error:
            error.args = tuple(_as_given(item, given) for item in error.args)
            raise


@contextmanager
def _worker_named() -> Iterator[None]:
    """Errors of the system in the block, as a WorkerError that says where they arose."""
    try:
        yield
    except OSError as error:
        raise WorkerError(f"the worker on {gethostname()} cannot go on: {error}") from error


def _written(folder: Path, given: str, content: bytes) -> Path:
    """The path of a file with a name as given, written into a folder of its own."""
    folder.mkdir()
    path = folder / Path(given).name
    path.write_bytes(content)
    return path


def _as_given(text: object, given: Mapping[Path, str]) -> object:
    """A message with the paths as they were given, in place of where they lay on this worker."""
    if isinstance(text, str):
        for path, original in given.items():
            text = text.replace(str(path), original)
    return text


def versions() -> tuple[str, str]:
    """Those of the compiler and of LiteRT here, on a worker: they decide what it makes of tasks."""
    return compiler_version(), litert_version()


def unequal(theirs: str, ours: str) -> str:
    """Why a worker with another version of the compiler cannot be used."""
    return f"it has tflgpu {theirs}, but this is {ours}; install the same on both"
