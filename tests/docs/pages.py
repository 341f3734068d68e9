"""The pages of the documentation, and the blocks of code in them.

A comment in front of a block says what is special about it:

    <!-- not run: it needs a GPU -->        why its commands cannot be run here
    <!-- needs spirv-cross -->              a program without which they are left out
    <!-- file compiler/ops/x.py -->         the block is the whole content of a new file
    <!-- change compiler/ops/x.py -->       the block is a diff of a file
    <!-- cases -->                          rows of the tables of cases
    <!-- content of templates/x.jinja -->   the block is the whole of a file
    <!-- excerpt of kernels/x.cl ... -->    pieces of a kernel, with ... between them
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "samples").rglob("*.md")),
)

_BLOCK = re.compile(r"(?:^<!-- (.+?) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int
    """Of the page, where the code begins."""
    language: str
    note: str
    """What the comment in front of it says; empty if there is none."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def says(self, key: str) -> str | None:
        """What the comment says behind a key, such as the reason behind `not run:`."""
        return self.note.removeprefix(key).strip() if self.note.startswith(key) else None


def content(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    text = content(page)
    return [
        Block(page, text.count("\n", 0, match.start(3)) + 1, match[2], match[1] or "", match[3])
        for match in _BLOCK.finditer(text)
    ]


def prose(page: str) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", content(page))


def section(page: str, heading: str) -> tuple[int, int]:
    """The first and last line of a section; its heading is given without the #."""
    lines = content(page).splitlines()
    (start,) = (n for n, line in enumerate(lines, 1) if re.fullmatch(rf"#+ {heading}", line))
    depth = lines[start - 1].count("#")
    ends = (
        n
        for n, line in enumerate(lines[start:], start)
        if re.match(rf"#{{1,{depth}}} ", line) and "```" not in line
    )
    return start, next(ends, len(lines))
