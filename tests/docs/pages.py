"""The pages of the documentation and the code blocks in them.

A comment before a block describes it:

    <!-- not run: it needs a GPU -->        why the block cannot be run
    <!-- needs spirv-cross -->              a program that the block requires
    <!-- file compiler/ops/x.py -->         the content of a new file; docs/generate.py writes it if
                                            tflgpu has the file
    <!-- change compiler/ops/x.py -->       a diff to apply to a file
    <!-- cases -->                          test cases of an operator
    <!-- content of templates/x.jinja -->   the content of an existing file, which it writes, too
    <!-- excerpt of kernels/x.cl ... -->    pieces of a kernel, separated by lines of ...
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "samples").rglob("*.md")),
)

_BLOCK = re.compile(r"(?:^<!-- ([^\n]+?) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int  # The number of its first line of code in the page.
    language: str
    note: str  # The comment before it, or empty.
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def says(self, key: str) -> str | None:
        """The rest of the note if it starts with a key, such as the reason after `not run:`."""
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
    """A page without its code blocks."""
    return _BLOCK.sub("", content(page))


def section(page: str, heading: str) -> tuple[int, int]:
    """The first and last line of a section with this heading, given without the #."""
    lines = content(page).splitlines()
    (start,) = (n for n, line in enumerate(lines, 1) if re.fullmatch(rf"#+ {heading}", line))
    depth = lines[start - 1].count("#")
    ends = (
        n
        for n, line in enumerate(lines[start:], start)
        if re.match(rf"#{{1,{depth}}} ", line) and "```" not in line
    )
    return start, next(ends, len(lines))
