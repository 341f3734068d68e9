"""Comments of kernels' files, and long lines, continued after a comma or before an operator."""

import re
from collections.abc import Iterable, Iterator

WIDTH = 100  # Most characters of a line.
STEP = "  "  # The indentation of a block.

# A line continues after a comma, or before an operator; of these, from loose to tight:
_SIGNS = ("? :", "||", "&&", "| ^ &", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
_TIGHTNESS = {sign: level for level, signs in enumerate(_SIGNS, 1) for sign in signs.split()}
_BREAK = re.compile(r"(?<=, )|(?= (\S\S?) )")
_COMMENT_BREAK = re.compile(r"(?<=[,:] )|(?= (\S\S?) )")


def wrapped(line: str, width: int = WIDTH, breaks: re.Pattern[str] = _BREAK) -> list[str]:
    """A statement on as few lines as it needs.

    Those after the first are two steps deeper, and two more within further parentheses.
    """
    return list(_wrapped(line, width, breaks)) if len(line) > width else [line]


def _wrapped(line: str, width: int, breaks: re.Pattern[str]) -> Iterator[str]:
    """It breaks in the fewest parentheses, and there where it is bound least tightly."""
    rest, indent = line, ""
    depth = 0  # Of the parentheses that the rest is in.
    broken = [-1]  # The depths of the places at which it broke, outermost first.
    while len(indent) + len(rest) > width:
        most = width - len(indent)
        found = {
            match.start(): _TIGHTNESS.get(match[1], 0)
            for match in breaks.finditer(rest)
            if match.start() and (not match[1] or match[1] in _TIGHTNESS)
        }
        places = [place for place in found if place <= most] or list(found)[:1]
        if not places:
            break
        late = [place for place in places if place >= most // 3] or places[-1:]
        place = min(late, key=lambda each: (_depth(rest[:each]), found[each], -each))
        yield indent + rest[:place].rstrip()
        depth += _depth(rest[:place])
        broken = [each for each in broken if each < depth] + [depth]
        rest, indent = rest[place:].lstrip(), STEP * 2 * (len(broken) - 1)
    yield indent + rest


def _depth(text: str) -> int:
    return text.count("(") + text.count("[") - text.count(")") - text.count("]")


def comment(lines: Iterable[str]) -> str:
    mark = "// "
    width = WIDTH - len(mark)
    return "\n".join(mark + part for line in lines for part in wrapped(line, width, _COMMENT_BREAK))


def in_comment(name: str) -> str:
    r"""A name made safe for a comment, which it can neither end nor continue.

    Nor can it be taken for a directive, or for a trigraph.

    >>> in_comment("a b\n*/ \\")
    'a_b_*__/_'
    """
    return re.sub(r"[^!-\[\]-~]|[#%?]", "_", name).replace("*/", "*_/")
