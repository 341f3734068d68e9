"""Statements of kernels, as trees that know what they declare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .expression import Expression, Name, Number, Operation, Sum, Unary


@dataclass(slots=True)
class Remark:
    text: str


@dataclass(slots=True)
class Evaluate:
    """A call or a step for its effect."""

    value: Expression


@dataclass(slots=True)
class Declare:
    """A variable, or an array."""

    type: str  # As expressions have it, or its name in the language.
    name: str
    size: int = 0  # Number of elements; 0 for a single variable.
    value: Expression | None = None  # None if it has none yet.
    remark: str = ""


@dataclass(slots=True)
class Assign:
    target: Expression
    sign: str  # `=`, or an operator before it.
    value: Expression
    remark: str = ""


COMPOUND = frozenset("+-*/")  # The operators that also assign, with `=` behind them.


def assignment(target: Expression, value: Expression, remark: str = "") -> Assign:
    """Assigns a value; one that begins with the target itself only says what happens to it."""
    if isinstance(value, Operation) and value.parts[0] in COMPOUND:
        sign, left, right = value.parts
        if left == target:
            return Assign(target, f"{sign}=", right, remark)
    return Assign(target, "=", value, remark)


@dataclass(slots=True)
class Return:
    value: Expression | None = None


@dataclass(slots=True)
class For:
    start: Declare | None
    condition: Expression
    step: Assign | Evaluate
    body: Statements
    hint: str = ""  # The line before it that tells compilers to unroll it, or not to; "" for none.
    rounds: int = 0  # The most that it makes.


# The most rounds of a loop as long as a condition holds, each of which halves an integer.
HALVINGS = 32

WRITTEN_OUT = 4  # The most rounds of a loop that compilers write out, if there is none in it.


@dataclass(slots=True)
class While:
    condition: Expression
    body: Statements


@dataclass(slots=True)
class If:
    condition: Expression
    then: Statements
    other: Statements


@dataclass(slots=True)
class Copy:
    """Statements that stand where a loop, or a condition, is not needed.

    Braces are around them only if they declare what others beside them declare, or is around them.
    """

    body: Statements
    repeated: bool = False  # Whether it is one of several rounds of a loop, which declare the same.


Remarked = Declare | Assign  # Statements with remarks.
Simple = Remarked | Evaluate | Return  # Statements without others in them.

Statement = Remark | Simple | For | While | If | Copy


@dataclass(slots=True)
class Statements:
    items: tuple[Statement, ...]

    @property
    def length(self) -> int:
        """About how many lines it has."""
        return sum(map(_length, self.items))

    @property
    def plain(self) -> bool:
        """Whether none of them has others in it."""
        return all(
            item.body.plain if isinstance(item, Copy) else isinstance(item, Simple)
            for item in self.items
        )

    @property
    def iterations(self) -> int:
        """The most rounds that its loops make together; those of inner loops count each time."""
        return sum(map(_iterations, self.items))

    @property
    def hinted(self) -> bool:
        """Whether a loop in it has a hint for compilers."""
        return any(map(_hinted, self.items))


def body(*items: Statement) -> Statements:
    return Statements(items)


def statements(values: Iterable[object]) -> Statements:
    """Statements and calls for their effect, with nothing but white space between them."""
    items: list[Statement] = []
    for value in values:
        if isinstance(value, Statements):
            items += value.items
        elif isinstance(value, Expression):
            items.append(Evaluate(value))
        elif str(value).strip():
            raise TypeError(f"{str(value).strip()!r} is no statement")
    return Statements(tuple(items))


def _length(item: Statement) -> int:
    if isinstance(item, Copy):
        return item.body.length
    if isinstance(item, For | While):
        return max(item.body.length, 2)
    return item.then.length + item.other.length + 1 if isinstance(item, If) else 1


def _iterations(item: Statement) -> int:
    if isinstance(item, For | While):
        rounds, inner = item.rounds if isinstance(item, For) else HALVINGS, item.body.iterations
        return rounds * (1 + inner) if inner or rounds > WRITTEN_OUT else 0
    if isinstance(item, If):  # neighbouring work-items may run one each, together
        return item.then.iterations + item.other.iterations
    return item.body.iterations if isinstance(item, Copy) else 0


def _hinted(item: Statement) -> bool:
    if isinstance(item, For):
        return bool(item.hint) or item.body.hinted
    if isinstance(item, If):
        return item.then.hinted or item.other.hinted
    return isinstance(item, While | Copy) and item.body.hinted


def told(items: Sequence[Statement], visible: frozenset[str]) -> Iterator[Statement]:
    """The statements of a block as they are printed, where the names in `visible` are declared."""
    flat, _ = _flat(items, visible)
    return _initialized(_joined(flat))


def _flat(
    items: Sequence[Statement], visible: frozenset[str]
) -> tuple[list[Statement], frozenset[str]]:
    """The statements without needless copies, and what they declare."""
    if len(items) == 1 and isinstance(items[0], Copy):
        return _flat(items[0].body.items, visible)
    declared = frozenset(item.name for item in items if isinstance(item, Declare))
    around = visible | declared
    copies = {
        i: _flat(each.body.items, around) for i, each in enumerate(items) if isinstance(each, Copy)
    }
    counts = Counter(name for _, names in copies.values() for name in names)
    flat: list[Statement] = []
    for number, item in enumerate(items):
        if not isinstance(item, Copy):
            flat.append(_narrowed(item) if isinstance(item, If) else item)
            continue
        inner, names = copies[number]
        if (names and item.repeated) or names & around or any(counts[name] > 1 for name in names):
            flat.append(item)
        else:
            declared |= names
            flat += inner
    return flat, declared


def _narrowed(item: If) -> If:
    """A condition around nothing but another one holds together with that."""
    inner = item.then.items
    while len(inner) == 1 and isinstance(inner[0], Copy):
        inner = inner[0].body.items
    if len(inner) != 1 or not isinstance(inner[0], If) or item.other.items or inner[0].other.items:
        return item
    return _narrowed(If(item.condition & inner[0].condition, inner[0].then, item.other))


def _joined(items: Sequence[Statement]) -> list[Statement]:
    """Neighbouring statements under the same condition are under one."""
    found: list[Statement] = []
    for item in items:
        before = found[-1] if found else None
        if (
            isinstance(item, If)
            and isinstance(before, If)
            and item.condition == before.condition
            and _lasts(item.condition)
            and not (item.other.items or before.other.items)
        ):
            found[-1] = If(item.condition, body(Copy(before.then), Copy(item.then)), item.other)
        else:
            found.append(item)
    return found


def _lasts(condition: Expression) -> bool:
    """Whether no statement changes what a condition depends on."""
    if isinstance(condition, Name):
        return not condition.changes
    known = isinstance(condition, Number | Operation | Sum | Unary)
    return known and all(map(_lasts, condition.operands))


def _initialized(items: Sequence[Statement]) -> Iterator[Statement]:
    """Variables that get their value right after their declaration are declared with it."""
    waiting: Declare | None = None
    for item in items:
        if (
            waiting
            and isinstance(item, Assign)
            and item.sign == "="
            and item.target == Name(waiting.name)
        ):
            item, waiting = Declare(waiting.type, waiting.name, 0, item.value, item.remark), None
        if waiting:
            yield waiting
            waiting = None
        if isinstance(item, Declare) and not item.size and item.value is None:
            waiting = item
        else:
            yield item
    if waiting:
        yield waiting


@dataclass(frozen=True)
class Printed:
    body: str
    functions: tuple[str, ...] = ()  # In WGSL, the functions that it calls.
    # In WGSL, the arrays of which elements are changed atomically.
    atomic: frozenset[str] = frozenset()
    # In WGSL, the numbers that it computes integers with, in the order in which it is printed.
    sizes: tuple[int, ...] = field(default=(), compare=False)
    # Prints it with variables for some of those, by their places, which it reads from an array.
    reading: Callable[[Mapping[int, str]], Printed] | None = field(default=None, compare=False)
