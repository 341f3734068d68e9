"""Which model files are meant by files, folders, patterns and lists."""

import os
from collections.abc import Iterable, Iterator
from glob import escape, glob, has_magic
from pathlib import Path

from ...runtime.cache.variant import FALLBACK, PLAN
from ..errors import ModelError
from ..side_file import read_text

SUFFIX = ".tflite"
HIDDEN = "."  # The start of the names of hidden files and folders.
COMMENT = "#"
LIST = "@"  # The start of an argument that names a list: a text file with an argument in each line.


def find_models(given: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The files that arguments stand for, in their order, each of them once.

    A folder stands for all .tflite files in and below it, sorted, but hidden ones; a pattern such
    as `a/**/*.tflite` for the files it matches, sorted; `@file` for the arguments in the lines of a
    text file, relative to its folder, without empty lines and those that begin with #. Anything
    else is a file. The parts of compiled models, which caches have, are no models.

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
        return _some(sorted(_below(path)), f"there is no {SUFFIX} file in {path}")
    if has_magic(argument) and not path.exists():
        files = (Path(name) for name in glob(argument, recursive=True))
        found = sorted(file for file in files if file.is_file() and not _is_part(file))
        return _some(found, f"no file matches {argument}")
    return [path]


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        if PLAN in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        names = (name for name in files if name.endswith(SUFFIX) and not name.startswith(HIDDEN))
        yield from (Path(parent, name) for name in names)


def _is_part(file: Path) -> bool:
    """Whether a file is what a compiled model runs on LiteRT."""
    return file.parent.name == FALLBACK and (file.parent.parent / PLAN).exists()


def _listed(path: Path) -> list[Path]:
    lines = read_text(path, "the list of models", ModelError, "utf-8-sig").splitlines()
    items = [line for line in map(str.strip, lines) if line and not line.startswith(COMMENT)]
    nested = [item for item in items if item.startswith(LIST)]
    if nested:
        raise ModelError(f"the list {path} names another list, {nested[0]}; name both lists")
    found = find_models(_in(path.parent, item) for item in items)
    return _some(found, f"the list {path} is empty")


def _in(folder: Path, item: str) -> Path:
    """A line of a list that lies in a folder, whose own name is no pattern."""
    return Path(escape(str(folder)), item) if has_magic(item) else folder / item


def _some(models: list[Path], otherwise: str) -> list[Path]:
    if not models:
        raise ModelError(otherwise)
    return models
