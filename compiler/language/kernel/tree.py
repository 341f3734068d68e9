"""The trees of kernel text: expressions, statements, functions and macros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Literal:
    """A number or a truth value, as it is written in GLSL."""

    text: str
    type: str


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Unary:
    sign: str
    operand: Expression


@dataclass(frozen=True)
class Step:
    """`variable++` or `++variable`, by `amount`."""

    variable: Expression
    amount: int
    first: bool
    """Whether the value is that after the step."""


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Choice:
    condition: Expression
    chosen: Expression
    other: Expression


@dataclass(frozen=True)
class Call:
    """A function, macro or type, and its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index:
    array: Expression
    index: Expression


@dataclass(frozen=True)
class Member:
    """Lanes of a vector."""

    value: Expression
    name: str


Expression = Literal | Name | Unary | Step | Binary | Choice | Call | Index | Member


@dataclass(frozen=True)
class Comment:
    text: str
    trailing: bool
    """Whether it follows a statement on its line."""


@dataclass(eq=False)
class Declare:
    """A variable; an array if it has a size."""

    type: str
    name: str
    size: Expression | None = None
    value: Expression | None = None
    changes: int = 0
    """How many statements assign to it after its declaration."""


@dataclass(frozen=True)
class Assign:
    target: Expression
    sign: str
    """`=`, or an operator before it."""
    value: Expression


@dataclass(frozen=True)
class Evaluate:
    """A call or a step for its effect."""

    value: Expression


@dataclass(frozen=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]


@dataclass(frozen=True)
class For:
    start: tuple[Statement, ...]
    condition: Expression | None
    step: tuple[Statement, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class While:
    condition: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return:
    value: Expression | None


@dataclass(frozen=True)
class Jump:
    """`break` or `continue`."""

    word: str


@dataclass(frozen=True)
class Block:
    body: tuple[Statement, ...]


Statement = Comment | Declare | Assign | Evaluate | If | For | While | Return | Jump | Block


@dataclass(frozen=True)
class Function:
    type: str
    name: str
    parameters: tuple[Declare, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Macro:
    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    """A single Evaluate if it stands for an expression."""
    uses: Mapping[str, int] = field(compare=False)
    """How often the body names each parameter."""


def parts(node: Expression) -> tuple[Expression, ...]:
    """The expressions that one consists of."""
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Index):
        return (node.array, node.index)
    if isinstance(node, Member):
        return (node.value,)
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Step):
        return (node.variable,)
    if isinstance(node, Choice):
        return (node.condition, node.chosen, node.other)
    return ()


def within(node: Expression) -> Iterator[Expression]:
    """An expression and everything in it."""
    yield node
    for part in parts(node):
        yield from within(part)


def replaced(node: Expression, by: Mapping[str, Expression]) -> Expression:
    """An expression with other expressions for names."""
    if isinstance(node, Name):
        return by.get(node.name, node)
    if isinstance(node, Binary):
        return Binary(node.sign, replaced(node.left, by), replaced(node.right, by))
    if isinstance(node, Call):
        return Call(node.function, tuple([replaced(each, by) for each in node.arguments]))
    if isinstance(node, Index):
        return Index(replaced(node.array, by), replaced(node.index, by))
    if isinstance(node, Member):
        return Member(replaced(node.value, by), node.name)
    if isinstance(node, Unary):
        return Unary(node.sign, replaced(node.operand, by))
    if isinstance(node, Choice):
        return Choice(*(replaced(each, by) for each in parts(node)))
    return node
