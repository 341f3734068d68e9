"""Literals of C99."""

from collections.abc import Iterable, Iterator

LONGEST_STRING = 4000  # Bytes of a string literal: compilers need not accept more than 4095.
LONGEST_LINE = 1000  # Characters, of up to four bytes each, of a line that stay together.


def string(text: str) -> str:
    r"""A string literal of one line. Bytes beyond ASCII and what could be a trigraph are escaped.

    >>> print(string('say "ü?"'))
    "say \"\303\274\?\""
    """
    return '"' + "".join(map(_escaped, text.encode())) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character == "\n":
        return "\\n"
    if character in '\\"?':
        return f"\\{character}"
    return character if " " <= character <= "~" else f"\\{byte:03o}"


def pieces(text: str) -> Iterator[str]:
    """Literals for a text of any length, each of adjacent ones, a line of code for each line."""
    piece: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), LONGEST_LINE):
            part = line[start : start + LONGEST_LINE]
            if size + len(part.encode()) > LONGEST_STRING and piece:
                yield "\n".join(piece)
                piece, size = [], 0
            piece.append(f"    {string(part)}")
            size += len(part.encode())
    if piece:
        yield "\n".join(piece)


def floating(value: float) -> str:
    """A float literal with the value of a float32, to the last bit.

    >>> floating(0.5), floating(0.0)
    ('0x1.0000000000000p-1f', '0.0f')
    """
    return f"{value.hex()}f" if value else "0.0f"


def braced(values: Iterable[object]) -> str:
    """Values in the order of an array or structure.

    >>> braced((1, "NULL", 3))
    '{1, NULL, 3}'
    """
    return f"{{{', '.join(map(str, values))}}}"


def array(kind: str, name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"static const {kind} {name}[] = {{", *(f"    {row}," for row in rows), "};"])
