"""Replacing a variant's folder, so that it appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .private_files import check_private, sync_folder


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
