"""Writing a file for the user so that it appears whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from .shell import Failure


def check_folders(*paths: Path | None) -> None:
    """Failure, before hours of work, if a file that is to be written is a folder, or has none."""
    for path in filter(None, paths):
        if path.is_dir():
            raise Failure(f"cannot write {path}: it is a folder")
        if not path.parent.is_dir():
            raise Failure(f"cannot write {path}: there is no folder {path.parent}")


def write_whole(path: Path, content: bytes) -> None:
    """Write or replace a file, whole or not at all (Failure), even if the disk is full."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe or a device
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from error


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{os.getpid()}.{path.name[-200:]}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
