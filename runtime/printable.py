"""Text from files made safe for terminals.

A name in a model may hold escape sequences that change what a terminal shows, marks that reverse
the direction of writing, or a megabyte of text. Names are shown on one line, short, and with an
escape sequence in the notation of Python in place of each character that is not printable.
"""

import re

LONGEST_NAME = 200  # Characters of a name that are shown.

# Characters without a space that are shown of a message, in which names and paths are words.
LONGEST_WORD = 400

LONGEST_LINE = 8000  # Characters of a line of a message that are shown.

_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def printable(name: str, longest: int = LONGEST_NAME) -> str:
    """A name, or other text of one line, made safe: escaped, and shortened in its middle.

    >>> printable("conv\\n\\x1b[2J")
    'conv\\\\n\\\\x1b[2J'
    """
    name = _shortened(name, longest)
    if name.isprintable():
        return name
    # An escape sequence has up to ten characters.
    return _shortened("".join(map(_escaped, name)), longest)


def printable_lines(text: str) -> str:
    """A message of several lines made safe, in which what is long is probably a name."""
    short = _WORD.sub(lambda word: _shortened(word[0], LONGEST_WORD), text)
    return "\n".join(printable(line, LONGEST_LINE) for line in short.split("\n"))


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
