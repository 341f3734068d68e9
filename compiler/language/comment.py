"""Names from models in comments of generated files."""

from __future__ import annotations

import re


def in_comment(name: str) -> str:
    r"""A name made safe for a comment, which it can neither end nor continue.

    Nor can it be taken for a directive, or for a trigraph.

    Of names that a converter joined, the first is taken.

    >>> in_comment("a b\n*/ \\;c")
    'a_b_*__/_'
    """
    return re.sub(r"[^!-\[\]-~]|[#%?]", "_", name.split(";")[0]).replace("*/", "*_/")
