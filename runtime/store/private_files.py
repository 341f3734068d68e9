"""Folders and files that nobody but this user can change, and reading such files.

What a cache holds will run, so all of it must be owned by this user (or by root) and writable by
nobody else. Files are not reached through symbolic links.
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..errors import PlanError

# Neither following links nor waiting for a writer, should the file be a pipe.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def make_private(folder: Path) -> None:
    """Make a folder only this user can use; PlanError if one is there that others can write to."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise PlanError(f"{folder} is a file; a cache is a folder") from None
    except OSError as error:
        raise PlanError(f"cannot make the folder {folder}: {error.strerror}") from error
    check_private(folder)


def check_private(folder: Path) -> None:
    """PlanError unless `folder` is a folder, no link, that no other user can write to."""
    try:
        status = folder.lstat()
    except OSError as error:
        raise PlanError(f"cannot read {folder}: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise PlanError(f"{folder} is a symbolic link; a cache holds plain files and folders only")
    if not stat.S_ISDIR(status.st_mode):
        raise PlanError(f"{folder} is not a folder")
    _check_owner(folder, status)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if os.name != "posix":
        return
    if status.st_uid not in (os.getuid(), 0):
        raise PlanError(
            f"{path} belongs to another user (id {status.st_uid}), who could change what runs; "
            f"use a cache folder of your own"
        )
    if status.st_mode & 0o022:
        raise PlanError(
            f"{path} can be written to by other users (mode {stat.S_IMODE(status.st_mode):o}), "
            f"who could change what runs; run: chmod -R go-w {path}"
        )


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of names is on the disk, where the system can say so."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in the place of whatever is there, whole or not at all (OSError)."""
    import tempfile

    descriptor, temporary = tempfile.mkstemp(".tmp", f".{path.stem}.", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def _open(path: Path) -> int:
    """A descriptor of a plain file that no other user can change (PlanError)."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}; compile the model again") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PlanError(f"{path} is not a plain file")
        _check_owner(path, status)
    except PlanError:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: Path, limit: int) -> bytes:
    """The content of a plain file that no other user can change (PlanError)."""
    with os.fdopen(_open(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise PlanError(f"{path} is larger than {limit} bytes")
        return file.read()


def map_file(path: Path) -> memoryview:
    """The content of a file, mapped into memory."""
    with os.fdopen(_open(path), "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
