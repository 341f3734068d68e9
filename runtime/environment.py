"""Variables that libraries read while they start, set before several start at once.

A thread that adds a variable may free the array of them that another thread is reading, for C's
library lets neither wait. So all is there before that drivers and numpy would add while they start.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from .processor import usable_cores

# What libraries read at any time, unless the environment has it.
_SETTINGS = {
    # PoCL would compile each kernel twice: at the first launch, for grids of its kind, and when
    # asked for the binary, for all.
    "POCL_WORK_GROUP_SPECIALIZATION": "0",
}
# What they read while they start, and this process alone may have.
_TAKEN_BACK = {
    # PoCL sets it lest hwloc loads OpenCL's loader.
    "HWLOC_PLUGINS_PATH": "/dev/null",
    # numpy sets it lest OpenBLAS keeps this thread on one processor.
    "OPENBLAS_MAIN_FREE": "1",
}
# The variable with which PoCL keeps each of its threads on a processor, the first on the first.
# Linux often wakes two of them on one processor and leaves them there, for a hundred runs and more,
# since none waits for long.
_AFFINITY = "POCL_AFFINITY"
# The variable that names the folder in which PoCL compiles, without which it has no devices.
_FOLDER = "POCL_CACHE_DIR"

_LOCK = threading.Lock()
_added: set[str] = set()  # What is to be taken back.
_blocks = 0


@contextmanager
def starting_libraries() -> Iterator[None]:
    """A block in which drivers and numpy start, on any threads.

    There may be several, one within the other or beside it; the last one's end takes back what this
    process alone may have.
    """
    global _blocks
    with _LOCK:
        _blocks += 1
        _add()
    try:
        yield
    finally:
        with _LOCK:
            _blocks -= 1
            while _added and not _blocks:
                os.environ.pop(_added.pop(), None)


def _add() -> None:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    wanted = dict(_TAKEN_BACK)
    if usable_cores() == os.cpu_count():
        wanted[_AFFINITY] = "1"
    if _FOLDER not in os.environ and not _takes_folders(folder_of_caches()):
        wanted[_FOLDER] = _own_folder()
    for name in wanted.keys() - os.environ.keys():
        os.environ[name] = wanted[name]
        _added.add(name)


def folder_of_caches() -> str:
    """The user's folder of caches, tflgpu's and PoCL's among them."""
    # As platformdirs has it on Linux, but importing that takes longer than a start has.
    return os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")


def _takes_folders(path: str) -> bool:
    """Whether a folder can be made there, with those that it lies in, or is there already."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


@cache
def _own_folder() -> str:
    """A folder that is removed when this process ends."""
    # Imported here, as starts rarely need them.
    import atexit
    from shutil import rmtree
    from tempfile import mkdtemp

    folder = mkdtemp(prefix="tflgpu-pocl-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder
