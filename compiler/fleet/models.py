"""Which model files are meant by files, folders, patterns and lists."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path

from ..errors import ModelError

SUFFIX = ".tflite"
LIST = "@"
"""The start of an argument that names a list: a text file with an argument in each line."""


def find_models(given: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The files that arguments stand for, in their order, each of them once.

    A folder stands for all .tflite files in and below it, sorted; a pattern such as `a/**/*.tflite`
    for what it matches, sorted; `@file` for the arguments in the lines of a text file, relative to
    its folder, without empty lines and those that begin with #. Anything else is a file.

    ModelError that names each folder, pattern and list without models.
    """
    found: dict[Path, None] = {}
    problems: list[str] = []
    for item in given:
        try:
            found.update(dict.fromkeys(_models(os.fspath(item))))
        except ModelError as error:
            problems.append(str(error))
    if problems:
        raise ModelError("\n".join(problems))
    return list(found)


def _models(argument: str) -> list[Path]:
    path = Path(argument)
    if argument.startswith(LIST) and not path.exists():
        return _listed(Path(argument.removeprefix(LIST)))
    if path.is_dir():
        return _some(sorted(path.rglob(f"*{SUFFIX}")), f"there is no {SUFFIX} file in {path}")
    if has_magic(argument) and not path.exists():
        files = (Path(name) for name in glob(argument, recursive=True))
        return _some(sorted(file for file in files if file.is_file()), f"no file is {argument}")
    return [path]


def _listed(path: Path) -> list[Path]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a UTF-8 text file"
        raise ModelError(f"cannot read the list of models {path}: {reason}") from error
    items = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    nested = [item for item in items if item.startswith(LIST)]
    if nested:
        raise ModelError(f"the list {path} names another list, {nested[0]}; name both lists")
    return _some(find_models(path.parent / item for item in items), f"the list {path} is empty")


def _some(models: list[Path], otherwise: str) -> list[Path]:
    if not models:
        raise ModelError(otherwise)
    return models
