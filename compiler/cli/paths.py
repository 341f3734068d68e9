"""The paths and URLs that commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ...runtime.remote.url import is_url, without_password


class FilePath(click.Path):
    """A path that must not be empty, as it would be with an unset shell variable.

    It must end in one of `suffixes`, in small or capital letters, unless there are none.
    """

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        super().__init__(path_type=Path)
        self._suffixes = tuple(suffixes)

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if not value:
            self.fail("the path is empty", parameter, context)
        if is_url(value):
            self.fail(
                f"{without_password(value)} is a URL; this takes a path. `tflgpu-compile -o`, "
                f"`tflgpu run`, `tflgpu cache` and `tflgpu.load` take URLs",
                parameter,
                context,
            )
        if self._suffixes and Path(value).suffix.lower() not in self._suffixes:
            known = "one of " * (len(self._suffixes) > 1) + ", ".join(self._suffixes)
            self.fail(f"{value} must end in {known}", parameter, context)
        return super().convert(value, parameter, context)


class CachePlace(FilePath):
    """A cache: the path of a folder, or the URL of a store as a string."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if is_url(value):
            return value
        return super().convert(value, parameter, context)
