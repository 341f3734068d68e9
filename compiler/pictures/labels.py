"""The names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...runtime.errors import InputError
from ..side_file import read_text


def read_labels(path: Path) -> tuple[str, ...]:
    """The lines of a file of class names (InputError)."""
    names = read_text(path, "the labels in", InputError).splitlines()
    if not names:
        raise InputError(f"{path} contains no labels; it must have one per line")
    return tuple(names)


def label(names: Sequence[str], number: int) -> str:
    """The name of a class, or its number if it has none."""
    return names[number] if 0 <= number < len(names) else f"class {number}"
