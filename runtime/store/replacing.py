"""Reading a cache while another process puts a new folder in the place of one that is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import PlanError
from .cache import is_fingerprint
from .variant import PLAN

ATTEMPTS = 5
PAUSE = 0.02
"""Seconds between attempts; folders change places in a fraction of that."""

_Result = TypeVar("_Result")


def read_settled(cache: Path, read: Callable[[], _Result]) -> _Result:
    """What `read` gives, tried again if it fails while folders of the cache change places."""
    for _ in range(ATTEMPTS - 1):
        before = _inodes(cache)
        try:
            return read()
        except PlanError:
            after = _inodes(cache)
            if after == before and not any(name.endswith(".tmp") for name in after):
                raise
        time.sleep(PAUSE)
    return read()


def _inodes(cache: Path) -> dict[str, int]:
    """The variants in a cache or, where it is a variant's own folder, those beside it."""
    if cache.is_dir() and not os.path.lexists(cache / PLAN):
        folders = [path for path in _entries(cache) if is_fingerprint(os.path.basename(path))]
    else:
        folders = [str(cache.parent)]
    return {path: inode for folder in folders for path, inode in _entries(folder).items()}


def _entries(folder: str | Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.path: entry.inode() for entry in entries}
    except OSError:
        return {}
