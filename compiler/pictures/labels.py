"""The names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...runtime.errors import InputError


def read_labels(path: Path) -> tuple[str, ...]:
    """The lines of a file of class names (InputError)."""
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the labels in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the labels in {path} are not UTF-8 text") from error
    if not names:
        raise InputError(f"{path} contains no labels; it must have one per line")
    return tuple(names)


def label(names: Sequence[str], number: int) -> str:
    """The name of a class, or its number if it has none."""
    return names[number] if 0 <= number < len(names) else f"class {number}"
