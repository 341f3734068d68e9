"""Maintaining a cache folder: listing it, checking it, and freeing space.

Loading a model needs none of this. Folders are removed under their lock, so that no process that
compiles the same model is disturbed. Sessions that use a removed variant go on running, on systems
where a mapped file can be removed.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from ..errors import PlanError
from .binaries import BINARIES, LARGEST_BINARY, split
from .folder import check_exists, is_fingerprint, lock
from .private_files import read_file
from .replacing import REMOVED_MEANWHILE
from .variant import PLAN, WEIGHTS, edited_kernels, read_plan, read_variant


@dataclass(frozen=True)
class Entry:
    folder: Path
    model: str  # The model file's name; empty if the plan is damaged.
    choices: int  # The number of choices of input shapes that it was compiled for.
    size: int  # Bytes of all its files.
    binaries: int  # The number of devices with stored binaries.
    edited: tuple[str, ...]
    # When it was last loaded, if the file system records that, or else written (Unix time).
    used: float


def entries(cache: Path) -> list[Entry]:
    """The variants in a cache, least recently used first.

    PlanError if there is no cache, or it is not private.
    """
    check_exists(cache)
    found = []
    try:
        for folder in _folders(cache):
            with suppress(FileNotFoundError):  # another process has just removed it
                found.append(_entry(folder))
    except OSError as error:
        raise PlanError(f"cannot read {error.filename}: {error.strerror}; try again") from error
    return sorted(found, key=lambda entry: (entry.used, entry.folder))


def problems(entry: Entry) -> tuple[list[str], list[str]]:
    """What is wrong with a variant: why it cannot be loaded, and which binaries cannot be used."""
    fatal = []
    try:
        read_variant(entry.folder)
    except PlanError as error:
        fatal.append(str(error))
    binaries = []
    for path in _binaries(entry.folder):
        try:
            damaged = split(read_file(path, LARGEST_BINARY)) is None
        except PlanError as error:
            binaries.append(str(error))
        else:
            if damaged:
                binaries.append(f"{path} is damaged; the next load compiles the kernels again")
    return fatal, binaries


def check_empty(cache: Path) -> None:
    """PlanError if a folder without variants holds other files, so that it is no cache."""
    if any(not path.name.startswith(".") for path in _listed(cache)):
        raise PlanError(
            f"{cache} holds files, but no compiled model; give the folder of a cache, or compile a "
            f"model into this one: tflgpu-compile MODEL -o {cache}"
        )


def prune(cache: Path, size: int) -> list[Entry]:
    """Remove the least recently used variants until the rest take at most `size` bytes.

    Returns those removed. Also removes what killed processes left behind. Variants that another
    process is changing are kept. PlanError if something cannot be removed.
    """
    present = entries(cache)
    excess = sum(entry.size for entry in present) - size
    removed = []
    for entry in present:
        if excess <= 0:
            break
        if _remove_variant(entry.folder):
            removed.append(entry)
            excess -= entry.size
    _remove_leftovers(cache)
    return removed


def _folders(cache: Path) -> Iterator[Path]:
    for model in _models(cache):
        for folder in _listed(model):
            if not folder.name.startswith(".") and _is_folder(folder):
                yield folder


def _models(cache: Path) -> Iterator[Path]:
    for model in sorted(cache.iterdir()):
        if is_fingerprint(model.name) and _is_folder(model):
            yield model


def _listed(folder: Path) -> list[Path]:
    """What a folder holds; nothing if another process has just removed it."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _entry(folder: Path) -> Entry:
    model, choices, edited = "", 0, tuple[str, ...]()
    with suppress(PlanError):
        plan = read_plan(folder)
        model, choices, edited = plan.model, 1 + len(plan.specializations), edited_kernels(plan)
    size = sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    return Entry(folder, model, choices, size, len(_binaries(folder)), edited, _used(folder))


def _used(folder: Path) -> float:
    # Only loading reads the weights; listing the cache reads the plan.
    for file in (WEIGHTS, PLAN):
        with suppress(OSError):
            status = (folder / file).lstat()
            return max(status.st_atime, status.st_mtime)
    return 0.0


def _binaries(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob(f"**/{BINARIES}/*.bin"))


def _remove_variant(folder: Path) -> bool:
    """Remove a variant's folder at once; False if another process changes or has removed it."""
    try:
        with lock(folder).acquire(timeout=0):
            _remove_at_once(folder, f".{folder.name}.")
    except Timeout:
        return False
    except OSError as error:
        if error.errno in REMOVED_MEANWHILE:
            return False
        raise PlanError(f"cannot remove {folder}: {error.strerror or error}") from error
    return True


def _remove_leftovers(cache: Path) -> None:
    """Remove what killed processes left behind, and folders of models without variants."""
    for leftover in list(cache.glob(".removed.*.tmp")):
        shutil.rmtree(leftover, ignore_errors=True)
    for model in _models(cache):
        for leftover in _listed(model):
            if leftover.suffix != ".tmp":
                continue
            # .variant.random.tmp
            folder = model / leftover.name[1:].rsplit(".", 2)[0]
            try:
                with lock(folder).acquire(timeout=0):
                    shutil.rmtree(leftover)
            except (Timeout, OSError):
                continue
        _remove_if_empty(model)


def _remove_if_empty(model: Path) -> None:
    """Remove the folder of a model without variants, unless a process holds one of its locks.

    It is moved away first: a process that is about to write there finds no folder, and makes one.
    """
    locks = _listed(model)
    if not all(path.suffix == ".lock" for path in locks):
        return
    with suppress(OSError, Timeout), ExitStack() as held:
        for path in locks:
            held.enter_context(lock(model / path.stem[1:]).acquire(timeout=0))
        _remove_at_once(model, ".removed.")


def _remove_at_once(folder: Path, prefix: str) -> None:
    """Remove a folder, which is moved away first, so that no process finds half of it."""
    temporary = Path(tempfile.mkdtemp(".tmp", prefix, folder.parent))
    try:
        os.rename(folder, temporary / "old")
    finally:
        shutil.rmtree(temporary)
