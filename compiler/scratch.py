"""Temporary folders."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder in the system's temporary directory, removed at the end.

    Unlike `tempfile.TemporaryDirectory`, it is also removed if Ctrl-C or SIGTERM arrives while it
    is being created or removed.
    """
    folder = Path(tempfile.gettempdir(), f"tflgpu-{token_hex(8)}")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:
            # An interruption, or what rmtree makes of it if its folder is closed a second time.
            shutil.rmtree(folder, ignore_errors=True)
            raise
