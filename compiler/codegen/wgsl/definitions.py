"""What intrinsics stand for, read from their definitions in GLSL."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from operator import add, and_, floordiv, mod, mul, rshift

from ...language.expression import Expression, Name, Number, Operation
from ...language.primary import Numeral
from ...language.statement import Assign, Declare, Evaluate, Statements


@dataclass(frozen=True)
class Function:
    type: str
    name: str
    parameters: tuple[Declare, ...]
    body: Statements


@dataclass(frozen=True)
class Macro:
    name: str
    parameters: tuple[str, ...]
    body: tuple[Assign | Evaluate, ...]  # A single Evaluate if it stands for an expression.

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often the body names each parameter."""
        roots = [root for each in self.body for root in _parts(each)]
        return {each: sum(root.count(Name(each)) for root in roots) for each in self.parameters}

    def called(self, *arguments: Expression) -> list[Assign | Evaluate]:
        by = dict(zip(self.parameters, arguments, strict=True))
        return [
            Assign(replaced(each.target, by), each.sign, replaced(each.value, by))
            if isinstance(each, Assign)
            else Evaluate(replaced(each.value, by))
            for each in self.body
        ]


def _parts(statement: Assign | Evaluate) -> tuple[Expression, ...]:
    target = (statement.target,) if isinstance(statement, Assign) else ()
    return (*target, statement.value)


def within(node: Expression) -> Iterator[Expression]:
    """An expression and everything in it."""
    yield node
    for part in node.operands:
        yield from within(part)


# The operators whose results are known where both operands are numbers of at least 0.
_RESULTS = {"+": add, "*": mul, "/": floordiv, "%": mod, "&": and_, ">>": rshift}


def replaced(node: Expression, by: Mapping[str, Expression]) -> Expression:
    """An expression of a definition with other expressions for names."""
    if isinstance(node, Name):
        return by.get(node.text, node)
    made = copy(node)
    made.parts = tuple(
        [replaced(part, by) if isinstance(part, Expression) else part for part in node.parts]
    )
    if isinstance(made, Operation) and made.parts[0] in _RESULTS:
        left, right = made.operands
        first, second = _number(left), _number(right, "u")
        if first is not None and second is not None:
            return Number(_RESULTS[made.parts[0]](first, second))
    return made


def _number(node: Expression, suffix: str = "") -> int | None:
    """A number of at least 0, which may have a suffix, such as 2u; None for anything else."""
    if isinstance(node, Numeral):
        text = node.text.removesuffix(suffix)
        return int(text) if text.isdecimal() else None
    return node.value if node.value is not None and node.value >= 0 else None
