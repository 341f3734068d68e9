"""The statements of a rendered kernel without loops of one turn and without bare blocks.

Templates write loops over whatever a shape may ask for. Where it asks for one turn, as in

    for (int n = 0; n < 1; n++) {
      sum[n * 4 + p] += v * w[n];
    }

the kernel gets `sum[p] += v * w[0];`. Statements are indented anew by how they nest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

TYPES = ("float", "int", "bool", "floatS", "intS")
"""Types of variables that kernels declare."""

_HEAD = re.compile(r"(?:unroll\s+)?(?:for|while|if|else if) ?\(|else\b")
_ONE_TURN = re.compile(r"(?:unroll\n)?for \(int (\w+) = (\d+); \1 < (\d+); \1\+\+\)")
_DECLARATION = re.compile(rf"(?:{'|'.join(TYPES)}) (.*);", re.DOTALL)

_BEGIN = r"(?:(?<=[\[(])|(?<=[=,?:+] ))"
"""Where a sum or product begins."""
_END = r"(?! [*/%])(?![\w.\[(])"
_TRIVIAL = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"{_BEGIN}0(?: \* \w+)? \+ ", ""),
        (rf" [+-] 0(?: \* \w+)?{_END}", ""),
        (rf"{_BEGIN}0 \* \w+{_END}", "0"),
        (r" \* 1(?![\w.])", ""),
        (rf"{_BEGIN}\((\w+(?: \* \w+)*)\)(?= [*+]|\])", r"\1"),
    )
)


@dataclass(frozen=True)
class Statement:
    """A statement: its text, or the head of a loop, condition or block with what it holds."""

    text: str
    inner: tuple[Statement, ...] | None = None
    braced: bool = False


def straighten(body: str) -> str:
    """The statements of a kernel's body, as few levels deep as they can be."""
    return _print(_straight(_Parser(body).statements(), frozenset()), "")


def simplify(text: str) -> str:
    """Integer sums and products without terms that are zero and factors that are one.

    >>> simplify("sum[0 * 24 + p] += v * w[0]; int slice = gs * 1 + 0;")
    'sum[p] += v * w[0]; int slice = gs;'
    """
    before = None
    while before != text:
        before = text
        for pattern, replacement in _TRIVIAL:
            text = pattern.sub(replacement, text)
    return text


class _Parser:
    """Splits the text of a body into statements."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def statements(self) -> tuple[Statement, ...]:
        """Statements up to the end of the block, or of the text."""
        found = []
        while (next_one := self._peek()) and next_one != "}":
            found.append(self._statement())
        self._at += 1
        return tuple(found)

    def _peek(self) -> str:
        """The next character that is no space."""
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _statement(self) -> Statement:
        next_one = self._peek()
        if next_one == "{":
            return self._holding("")
        if self._text.startswith(("//", "#"), self._at):
            return Statement(self._take(self._text.find("\n", self._at)))
        if head := _HEAD.match(self._text, self._at):
            stop = self._closing(head.end() - 1) if head[0].endswith("(") else head.end()
            return self._holding(re.sub(r"^unroll\s+", "unroll\n", self._take(stop)))
        text = self._take(self._closing(self._at, ";"))
        comment = re.compile(r" *//[^\n]*").match(self._text, self._at)
        return Statement(text + ("  " + self._take(comment.end()) if comment else ""))

    def _holding(self, head: str) -> Statement:
        if self._peek() == "{":
            self._at += 1
            return Statement(head, self.statements(), braced=True)
        return Statement(head, (self._statement(),))

    def _closing(self, start: int, last: str = ")") -> int:
        """Where a bracket opened at `start`, or a statement there, ends."""
        depth = 0
        for place in range(start, len(self._text)):
            character = self._text[place]
            depth += (character in "([{") - (character in ")]}")
            if depth == 0 and character == last:
                return place + 1
        return len(self._text)

    def _take(self, stop: int) -> str:
        stop = stop if stop >= 0 else len(self._text)
        text, self._at = self._text[self._at : stop], stop
        return text.strip()


def _straight(statements: tuple[Statement, ...], outer: frozenset[str]) -> tuple[Statement, ...]:
    """Statements with the contents of blocks and loops that are not needed in their place.

    A block whose variables are named like those around it has to stay.
    """
    names = outer | _declared(statements)
    result: list[Statement] = []
    for statement in statements:
        block = _once(statement)
        inner = block.inner
        if inner is None:
            result.append(block)
        elif block.text or (block.braced and _declared(inner) & names):
            inner = _straight(inner, names)
            braced = block.braced or len(inner) > 1
            result.append(replace(block, inner=inner, braced=braced))
        else:
            result += _straight(inner, names)
            names |= _declared(result)
    return tuple(result)


def _once(statement: Statement) -> Statement:
    """A loop of one turn as a block, with a number in place of its variable."""
    loop = _ONE_TURN.fullmatch(statement.text)
    inner = statement.inner or ()
    if not loop or int(loop[3]) - int(loop[2]) != 1 or any(map(_leaves, inner)):
        return statement
    return replace(statement, text="", inner=tuple(_put(s, loop[1], loop[2]) for s in inner))


def _leaves(statement: Statement) -> bool:
    """Whether a statement continues or breaks the loop it stands in."""
    if statement.inner is None:
        return statement.text in ("continue;", "break;")
    return not statement.text.startswith(("for", "unroll", "while")) and any(
        map(_leaves, statement.inner)
    )


def _put(statement: Statement, name: str, value: str) -> Statement:
    """A statement with a number in place of a variable."""
    inner = statement.inner
    text = simplify(re.sub(rf"\b{name}\b", value, statement.text))
    return replace(
        statement, text=text, inner=inner and tuple(_put(child, name, value) for child in inner)
    )


def _declared(statements: tuple[Statement, ...] | list[Statement]) -> frozenset[str]:
    """Names that statements declare, not those in blocks and loops among them."""
    names = set()
    for statement in statements:
        if statement.inner is None and (match := _DECLARATION.match(statement.text)):
            flat, changed = match[1], 1
            while changed:
                flat, changed = re.subn(r"[(\[][^()\[\]]*[)\]]", "", flat)
            names |= {part.split("=")[0].strip() for part in flat.split(",")}
    return frozenset(names)


def _print(statements: tuple[Statement, ...], margin: str) -> str:
    text = ""
    for statement in statements:
        head = statement.text.replace("\n", f"\n{margin}")
        if statement.inner is None:
            text += f"{margin}{head}\n"
            continue
        if head.startswith("else") and text.endswith("}\n"):
            text = text[:-1] + " "
        else:
            text += margin
        inner = _print(statement.inner, margin + "  ")
        if statement.braced:
            text += f"{head} {{\n{inner}{margin}}}\n".lstrip(" ")
        elif statement.inner[0].inner is None and len(head) + len(inner) < 100:
            text += f"{head} {inner.lstrip()}"
        else:
            text += f"{head}\n{inner}"
    return text
