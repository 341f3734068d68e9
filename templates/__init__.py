"""The kernel templates, as package data: nothing but access to their text."""

from __future__ import annotations

from importlib.resources import files


def source(name: str) -> str:
    """The text of a template, such as conv.jinja or dialects/opencl.h."""
    return files(__name__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def names() -> list[str]:
    """The names of all kernel templates, without the dialects."""
    folder = files(__name__)
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".jinja"))
