"""The printer of WGSL: from statements to lines, with the types of all values."""

from collections.abc import Sequence

from ...language.expression import Expression
from ...language.language import WGSL
from ...language.primary import Call, Step
from ...language.printing import indented
from ...language.statement import Assign, Declare, Evaluate, If, Return, Simple, Statement
from ...language.wrapping import wrapped
from .builtins import Unprintable, named
from .expressions import ExpressionPrinter, Variable, changing, straight
from .types import wgsl
from .values import filled, shift

LANES = 4


class WGSLPrinter(ExpressionPrinter):
    """Prints the body of a kernel or of a function."""

    def _statement(self, item: Statement) -> list[str]:
        if isinstance(item, Evaluate) and isinstance(item.value, Call):
            expanded = self.expanded(item.value)
            if expanded:
                return [line for each in expanded for line in self._statement(each)]
        lines = super()._statement(item)
        if isinstance(item, Declare):
            self._scopes[-1][item.name].lines = lines
        return lines

    def _simple(self, item: Simple) -> list[str]:
        """The statement, and then the steps of variables in it."""
        text = self._without_steps(item)
        steps = [_step(named(name), by) for name, by in self.steps.items()]
        self.steps = {}
        return [text, *steps] if text else steps

    def _without_steps(self, statement: Simple) -> str:
        if isinstance(statement, Declare):
            return self._declaration(statement)
        if isinstance(statement, Assign):
            return self._assignment(statement)
        if isinstance(statement, Return):
            if statement.value is None:
                return "return"
            value = self.expression(statement.value)
            self.returned = value.type
            return f"return {value.text}"
        text = self.expression(statement.value).text
        return "" if isinstance(statement.value, Step) else text

    def _declaration(self, declared: Declare) -> str:
        """What declares a variable, which changes if nothing else is known."""
        name, type = named(declared.name), WGSL.name_of(declared.type, LANES)
        text = f"var {name}: {wgsl(type)}"
        if declared.size:
            text = f"var {name}: array<{wgsl(type)}, {declared.size}>"
            type = f"{type}[]"
        elif declared.value is not None:
            (value,) = self.with_sizes([straight(declared.value)])
            text = f"let {name} = {value.text}"
        self._declare(declared.name, Variable(type))
        return text

    def _assignment(self, statement: Assign) -> str:
        target = self.place(statement.target)
        (value,) = self.with_sizes([statement.value], target.type)
        self.change(statement.target)
        if statement.sign in ("<<=", ">>="):
            value = shift(value, target.type)
        elif statement.sign in ("&=", "|=", "^="):
            value = filled(value, target.type)
        if self.is_atomic(statement.target):
            return f"atomicStore(&{target.text}, {value.text})"
        return f"{target.text} {statement.sign} {value.text}"

    def _start(self, declared: Declare) -> str:
        return changing(self._declaration(declared))

    def _head(self, word: str, condition: str) -> str:
        return f"{word} {condition}"

    def _if(self, item: If) -> list[str]:
        head = self._head("if", self._condition(item.condition))
        lines = self._headed(head, self.lines(item.then), not item.other.items)
        other = item.other.items
        if not other:
            return lines
        others = self.lines(item.other)
        if len(other) == 1 and isinstance(other[0], If):
            return [*lines[:-1], f"}} else {others[0]}", *others[1:]]
        return [*lines[:-1], *self._headed("} else", others, False)]

    def _headed(self, head: str, inner: Sequence[str], short: bool) -> list[str]:
        """A body in braces, which are on one line around a single statement if that may be."""
        if short and len(inner) == 1 and inner[0].endswith(";"):
            line = f"{head} {{ {inner[0]} }}"
            if len(line) <= self._width:
                return [line]
        return [*wrapped(f"{head} {{", self._width), *indented(inner), "}"]

    def _condition(self, condition: Expression) -> str:
        text = self.expression(condition).text
        if self.steps:
            raise Unprintable(f"the condition {text} changes a variable, which WGSL cannot")
        return text


def _step(variable: str, by: int) -> str:
    return f"{variable}{'++' if by > 0 else '--'}" if abs(by) == 1 else f"{variable} += {by}"
