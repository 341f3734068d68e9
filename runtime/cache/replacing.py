"""Replacing a variant's folder, so that it appears whole or not at all."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import PlanError
from .folder import lock
from .private_files import check_private, make_private, sync_folder

# How often to change a folder that another process removes meanwhile, each time after a pause.
ATTEMPTS = 100
PAUSE = 0.001  # Seconds of the first pause; each is longer than the one before by as much.

# What happens while a process that prunes the cache removes the model's folder, with its locks.
# Taking a lock creates that folder; it fails with EEXIST if the folder is there and then is not.
REMOVED_MEANWHILE = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY)


def change_folder(folder: Path, change: Callable[[], None]) -> None:
    """Change a variant's folder while no other process does, having made those above it.

    PlanError if it cannot be written or is not private.
    """
    for attempt in range(1, ATTEMPTS + 1):
        make_private(folder.parent.parent, linked=True)
        make_private(folder.parent)
        try:
            with lock(folder):
                return change()
        except PlanError as error:
            if not isinstance(error.__cause__, FileNotFoundError) or attempt == ATTEMPTS:
                raise
        except OSError as error:
            if error.errno not in REMOVED_MEANWHILE or attempt == ATTEMPTS:
                raise PlanError(f"cannot write {folder}: {error.strerror or error}") from error
        time.sleep(PAUSE * attempt)


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Replace whatever is at a path by the folder that `fill` creates at the path it is given.

    `fill` must wait until its files are on the disk. The caller holds the folder's lock. OSError,
    or what `fill` raises; there is then no trace of the new folder.
    """
    prefix = f".{folder.name}."
    # Remove what a killed process left behind. Nothing else uses it, since we hold the lock.
    for leftover in folder.parent.glob(f"{prefix}*.tmp"):
        _remove(leftover)
    temporary = Path(tempfile.mkdtemp(".tmp", prefix, folder.parent))
    try:
        new = temporary / "new"
        fill(new)
        if os.path.lexists(folder):
            os.rename(folder, temporary / "old")
        os.rename(new, folder)
        sync_folder(folder.parent)
    finally:
        _remove(temporary)
    check_private(folder)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
