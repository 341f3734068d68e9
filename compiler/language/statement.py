"""Statements of kernels, as trees that know what they declare, and their text.

The text is that of OpenCL C and of GLSL, whose statements are alike; WGSL is printed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .expression import Expression, Operation
from .language import Language
from .wrapping import STEP, WIDTH, wrapped


@dataclass(slots=True)
class Line:
    """A statement that declares nothing, such as a store; or a remark."""

    text: str


@dataclass(slots=True)
class Declare:
    """A variable, or an array."""

    type: str
    """As expressions have it, or its name in the language."""
    name: str
    size: int = 0
    """Number of elements; 0 for a single variable."""
    value: str = ""
    """"" if it has none yet."""
    remark: str = ""


@dataclass(slots=True)
class Assign:
    target: str
    sign: str
    """`=`, or an operator before it."""
    value: str
    remark: str = ""


COMPOUND = frozenset("+-*/")
"""The operators that also assign, with `=` behind them."""


def assignment(target: str, value: Expression, remark: str = "") -> Assign:
    """Assigns a value; one that begins with the target itself only says what happens to it."""
    if isinstance(value, Operation) and value.parts[0] in COMPOUND:
        sign, left, right = value.parts
        if left.text == target:
            return Assign(target, f"{sign}=", right.text, remark)
    return Assign(target, "=", value.text, remark)


@dataclass(slots=True)
class Loop:
    head: str
    body: Statements
    hint: str = ""
    """The line before it that tells compilers to unroll it, or not to; "" for none."""


@dataclass(slots=True)
class If:
    condition: str
    then: Statements
    other: Statements


@dataclass(slots=True)
class Copy:
    """Statements that stand where a loop, or a condition, is not needed.

    Braces are around them only if they declare what is declared beside them, or around them.
    """

    body: Statements
    repeated: bool = False
    """Whether it is one of several rounds of a loop, which declare the same."""


Statement = Line | Declare | Assign | Loop | If | Copy


@dataclass(slots=True)
class Statements:
    """Statements one after another."""

    items: tuple[Statement, ...]

    @property
    def length(self) -> int:
        """About how many lines it has."""
        return sum(map(_length, self.items))

    @property
    def hinted(self) -> bool:
        """Whether a loop in it has a hint for compilers."""
        return any(map(_hinted, self.items))


def statements(values: Iterable[object]) -> Statements:
    """Statements, and text between them of one a line."""
    items: list[Statement] = []
    text = ""
    for value in values:
        if isinstance(value, Statements):
            if text.strip():
                items += _lines(text)
            items += value.items
            text = ""
        else:
            text += str(value)
    return Statements((*items, *_lines(text)))


def lines(*texts: str) -> Statements:
    """Statements that declare nothing."""
    return Statements(tuple(map(Line, texts)))


def _length(item: Statement) -> int:
    if isinstance(item, Copy):
        return item.body.length
    if isinstance(item, Loop):
        return max(item.body.length, 2)
    return item.then.length + item.other.length + 1 if isinstance(item, If) else 1


def _hinted(item: Statement) -> bool:
    if isinstance(item, Loop):
        return bool(item.hint) or item.body.hinted
    if isinstance(item, If):
        return item.then.hinted or item.other.hinted
    return isinstance(item, Copy) and item.body.hinted


def _lines(text: str) -> Iterator[Line]:
    return (Line(line.strip()) for line in text.splitlines() if line.strip())


def _flat(
    items: Sequence[Statement], visible: frozenset[str]
) -> tuple[list[Statement], frozenset[str]]:
    """The statements without needless copies, and what they declare."""
    if len(items) == 1 and isinstance(items[0], Copy):
        return _flat(items[0].body.items, visible)
    declared = frozenset(item.name for item in items if isinstance(item, Declare))
    flat: list[Statement] = []
    for item in items:
        if not isinstance(item, Copy):
            flat.append(item)
            continue
        inner, names = _flat(item.body.items, visible)
        if (names and item.repeated) or names & (declared | visible):
            flat.append(item)
        else:
            declared |= names
            flat += inner
    return flat, declared


def _initialized(items: Sequence[Statement]) -> Iterator[Statement]:
    """Variables that get their value right after their declaration are declared with it."""
    waiting: Declare | None = None
    for item in items:
        if waiting and isinstance(item, Assign) and (item.target, item.sign) == (waiting.name, "="):
            item, waiting = Declare(waiting.type, waiting.name, 0, item.value, item.remark), None
        if waiting:
            yield waiting
            waiting = None
        if isinstance(item, Declare) and not item.size and not item.value:
            waiting = item
        else:
            yield item
    if waiting:
        yield waiting


@dataclass(frozen=True)
class Printer:
    """Prints statements in a language in which slices have so many lanes."""

    language: Language
    lanes: int

    def text(self, body: Statements, visible: frozenset[str]) -> str:
        """The body of a kernel, of which the names in `visible` are declared around it."""
        return "\n".join(_indented(self._lines(body, visible, WIDTH - len(STEP))))

    def _lines(self, body: Statements, visible: frozenset[str], width: int) -> list[str]:
        """The lines of statements, of so many characters at most."""
        flat, _ = _flat(body.items, visible)
        lines: list[str] = []
        here: set[str] = set()
        for item in _initialized(flat):
            lines += self._printed(item, visible, width)
            if isinstance(item, Declare):
                assert item.name not in here, f"a kernel declares {item.name} twice in a block"
                here.add(item.name)
                visible |= {item.name}
        return lines

    def _printed(self, item: Statement, visible: frozenset[str], width: int) -> list[str]:
        if isinstance(item, Line):
            return wrapped(item.text, width)
        if isinstance(item, Assign):
            return _remarked(f"{item.target} {item.sign} {item.value};", item.remark, width)
        if isinstance(item, Declare):
            type = self.language.name_of(item.type, self.lanes)
            size = f"[{item.size}]" if item.size else ""
            value = f" = {item.value}" if item.value else ""
            return _remarked(f"{type} {item.name}{size}{value};", item.remark, width)
        if isinstance(item, Loop):
            loop = _headed(item.head, self._inner(item.body, visible, width), width)
            return [item.hint, *loop] if item.hint else loop
        if isinstance(item, If):
            return self._conditional(item, visible, width)
        return ["{", *self._inner(item.body, visible, width), "}"]

    def _inner(self, body: Statements, visible: frozenset[str], width: int) -> list[str]:
        return _indented(self._lines(body, visible, width - len(STEP)))

    def _conditional(self, item: If, visible: frozenset[str], width: int) -> list[str]:
        head = f"if ({item.condition})"
        then, other = (self._inner(part, visible, width) for part in (item.then, item.other))
        if not other:
            return _headed(head, then, width)
        plain = all(isinstance(part.items[0], Line | Assign) for part in (item.then, item.other))
        if len(then) == len(other) == 1 and plain:
            return [*_headed(head, then, width), *_headed("else", other, width)]
        return [*wrapped(f"{head} {{", width), *then, "} else {", *other, "}"]


def _headed(head: str, body: list[str], width: int) -> list[str]:
    """An indented body after the head of a loop or condition, in braces if it has several lines."""
    if len(body) > 1:
        return [*wrapped(f"{head} {{", width), *body, "}"]
    return [
        text
        for line in body
        for text in (
            [f"{head} {line.strip()}"]
            if len(head) + len(line) < width
            else [*wrapped(head, width), line]
        )
    ]


def _remarked(statement: str, remark: str, width: int) -> list[str]:
    """A statement with a remark behind it."""
    *first, last = wrapped(statement, width)
    if len(last + remark) > width:
        *first, last = wrapped(statement, width - len(remark))
    return [*first, last + remark]


def _indented(lines: Iterable[str]) -> list[str]:
    return [STEP + line for line in lines]
