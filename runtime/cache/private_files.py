"""Folders and files that only this user can change, and reading and replacing such files.

The content of a cache is executed, so all of it must be owned by this user or by root, and writable
by nobody else. Symbolic links are not followed.
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import PlanError

if TYPE_CHECKING:
    from pathlib import Path

# Do not follow links, and do not wait for a writer if the file is a pipe.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

ATTEMPTS = 20  # How often a folder is made anew that other processes prune meanwhile.


def make_private(folder: Path, linked: bool = False) -> None:
    """Create a folder that only this user can access, or check the one that exists (PlanError).

    With `linked`, it may be a symbolic link, as a cache may, other than what is in it.
    """
    for _ in range(ATTEMPTS):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_folder(folder, folder.stat() if linked else folder.lstat())
            return
        except PlanError:
            raise
        except FileExistsError:
            if os.path.lexists(folder) and not folder.is_dir():
                raise PlanError(f"{folder} is a file, but a cache is a folder") from None
        except FileNotFoundError:
            pass  # another process has pruned it meanwhile
        except OSError as error:
            raise PlanError(f"cannot create the folder {folder}: {error.strerror}") from error
        except ValueError as error:  # no name of a file, such as one with a zero byte
            raise PlanError(f"cannot create the folder {folder}: {error}") from error
    present = next(parent for parent in folder.absolute().parents if parent.is_dir())
    raise PlanError(
        f"cannot create the folder {folder}: {present} takes no new folders, or another process "
        f"keeps removing them; choose another folder"
    )


def check_private(folder: Path | str) -> None:
    """PlanError unless `folder` is a folder, not a link, that no other user can write to."""
    try:
        status = os.lstat(folder)
    except OSError as error:
        raise PlanError(f"cannot read {folder}: {error.strerror}") from error
    _check_folder(folder, status)


def _check_folder(folder: Path | str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _linked(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise PlanError(f"{folder} is not a folder")
    _check_owner(folder, status)


def _linked(path: Path | str) -> PlanError:
    return PlanError(f"{path} is a symbolic link; a cache may hold only plain files and folders")


def _check_owner(path: Path | str, status: os.stat_result) -> None:
    if os.name != "posix":
        return
    if status.st_uid not in (os.getuid(), 0):
        raise PlanError(
            f"{path} belongs to another user (id {status.st_uid}), who could change the code that "
            f"is executed; use a cache folder of your own"
        )
    if status.st_mode & 0o022:
        raise PlanError(
            f"{path} can be written to by other users (mode {stat.S_IMODE(status.st_mode):o}), "
            f"who could change the code that is executed; run: chmod -R go-w {path}"
        )


def sync_folder(folder: Path) -> None:
    """Wait until a folder's entries are on disk, on systems that support it."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, lasting: bool = True) -> None:
    """Replace or make a file, whole or not at all, and wait for the disk if `lasting` (OSError)."""
    import tempfile

    descriptor, temporary = tempfile.mkstemp(".tmp", f".{path.stem}.", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if lasting:
        sync_folder(path.parent)


def _open(path: Path) -> int:
    """Open a plain file that no other user can change (PlanError)."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        if path.is_symlink():
            raise _linked(path) from error
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
    """The content of a file of at most `limit` bytes that no other user can change (PlanError)."""
    with os.fdopen(_open(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise PlanError(f"{path} is larger than {limit} bytes")
        return file.read()


def last_change(path: Path | os.DirEntry[str]) -> int:
    """When a file's content or its times were last set, in nanoseconds (OSError)."""
    return _changed(path.stat(follow_symlinks=False))


def _changed(status: os.stat_result) -> int:
    return max(status.st_mtime_ns, status.st_ctime_ns)


def map_file(path: Path) -> tuple[memoryview, int]:
    """The content of such a file, mapped into memory read-only, and its last change (PlanError)."""
    with os.fdopen(_open(path), "rb") as file:
        status = os.fstat(file.fileno())
        if not status.st_size:  # it cannot be mapped
            return memoryview(b""), _changed(status)
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(content), _changed(status)
