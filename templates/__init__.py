"""The kernel templates, as package data: nothing but access to their text."""

from importlib.resources import files


def source(name: str) -> str:
    """The text of a template, such as conv/conv_1x1.jinja."""
    return files(__name__).joinpath(*name.split("/")).read_text(encoding="utf-8")
