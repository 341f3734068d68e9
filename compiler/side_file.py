"""Texts that stand in files beside a model: labels, profiles, tables, lists, kernels."""

import os

from ..runtime.errors import TflgpuError

# Most bytes of such a file, far more than any needs; a device such as /dev/zero has no end.
LARGEST = 1 << 26


def read_text(
    path: str | os.PathLike[str], what: str, error: type[TflgpuError], encoding: str = "utf-8"
) -> str:
    """The content of a file, which errors call `what`. Raises `error` if it is no such text."""
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
        return content.decode(encoding)
    except UnicodeDecodeError as cause:
        raise error(f"cannot read {what} {os.fspath(path)}: it is not UTF-8 text") from cause
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or cause
        raise error(f"cannot read {what} {os.fspath(path)}: {reason}") from cause
