"""What intrinsics stand for, read from their definitions in GLSL."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from ...language.expression import Expression, Name
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


def replaced(node: Expression, by: Mapping[str, Expression]) -> Expression:
    """An expression of a definition with other expressions for names."""
    if isinstance(node, Name):
        return by.get(node.text, node)
    made = copy(node)
    made.parts = tuple(
        [replaced(part, by) if isinstance(part, Expression) else part for part in node.parts]
    )
    return made
