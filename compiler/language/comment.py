"""Comments of generated files, and names from models in them."""

import re
from collections.abc import Iterable

from .wrapping import WIDTH, wrapped


def comment(lines: Iterable[str]) -> str:
    """Lines as a comment of a kernel's file."""
    mark = "// "
    return "\n".join(mark + part for line in lines for part in wrapped(line, WIDTH - len(mark)))


def in_comment(name: str) -> str:
    r"""A name made safe for a comment, which it can neither end nor continue.

    Nor can it be taken for a directive, or for a trigraph.

    >>> in_comment("a b\n*/ \\")
    'a_b_*__/_'
    """
    return re.sub(r"[^!-\[\]-~]|[#%?]", "_", name).replace("*/", "*_/")
