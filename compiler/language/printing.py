"""The text of statements: what all languages have in common, and that of OpenCL C and of GLSL."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from .expression import Expression
from .language import Language
from .statement import (
    Assign,
    Copy,
    Declare,
    Evaluate,
    For,
    If,
    Printed,
    Remark,
    Remarked,
    Return,
    Simple,
    Statement,
    Statements,
    While,
    told,
)
from .wrapping import STEP, WIDTH, wrapped

Variable = TypeVar("Variable")


class Printer(ABC, Generic[Variable]):
    """Prints statements, whose bodies are scopes of their own."""

    def __init__(self, declared: Mapping[str, Variable]) -> None:
        """`declared` has what is around them."""
        # What printers know of the variables in the scopes from the outside in, by name.
        self._scopes = [dict(declared)]
        self._width = WIDTH  # Most characters of a line but for its indentation.

    def lines(self, found: Statements) -> list[str]:
        """The lines of statements in a scope of their own, to be indented."""
        visible = frozenset(name for scope in self._scopes for name in scope)
        self._width -= len(STEP)
        with self._scope():
            parts = [self._statement(each) for each in told(found.items, visible)]
        self._width += len(STEP)
        return [line for part in parts for line in part]

    def _declare(self, name: str, variable: Variable) -> None:
        """Note what is known of a variable from its declaration on."""
        assert name not in self._scopes[-1], f"a kernel declares {name} twice in a block"
        assert name not in self._scopes[0], f"a kernel declares {name}, which is a parameter"
        self._scopes[-1][name] = variable

    @contextmanager
    def _scope(self) -> Iterator[dict[str, Variable]]:
        self._scopes.append({})
        yield self._scopes[-1]
        self._scopes.pop()

    def _statement(self, item: Statement) -> list[str]:
        if isinstance(item, Remark):
            return [item.text]
        if isinstance(item, Copy):
            return ["{", *indented(self.lines(item.body)), "}"]
        if isinstance(item, If):
            return self._if(item)
        if isinstance(item, For):
            return self._for(item)
        if isinstance(item, While):
            head = self._head("while", self._condition(item.condition))
            return self._headed(head, self.lines(item.body), item.body.plain)
        *first, last = (f"{text};" for text in self._simple(item))
        remark = item.remark if isinstance(item, Remarked) else ""
        first_lines = [line for text in first for line in wrapped(text, self._width)]
        return [*first_lines, *self._remarked(last, remark)]

    def _for(self, item: For) -> list[str]:
        with self._scope():
            start = self._start(item.start) if item.start else ""
            condition = self._condition(item.condition)
            inner = self.lines(item.body)
            (step,) = self._simple(item.step)
        loop = self._headed(f"for ({start}; {condition}; {step})", inner, item.body.plain)
        return [item.hint, *loop] if item.hint else loop

    def _remarked(self, statement: str, remark: str) -> list[str]:
        """The remark stands behind its statement, or above where the line would be too long."""
        *first, last = wrapped(statement, self._width)
        if len(last + remark) > self._width:
            return [remark.strip(), *first, last]
        return [*first, last + remark]

    @abstractmethod
    def _simple(self, item: Simple) -> list[str]:
        """A statement without others in it, as one or several, but for the semicolons."""

    @abstractmethod
    def _start(self, declared: Declare) -> str:
        """The declaration of a loop's counter."""

    @abstractmethod
    def _condition(self, condition: Expression) -> str: ...

    @abstractmethod
    def _head(self, word: str, condition: str) -> str:
        """What comes before a body that depends on a condition."""

    @abstractmethod
    def _headed(self, head: str, inner: Sequence[str], short: bool) -> list[str]:
        """A body after its head, in braces where it needs them, and on its line if it may be."""

    @abstractmethod
    def _if(self, item: If) -> list[str]: ...


class CPrinter(Printer[None]):
    """Prints in OpenCL C or in GLSL, whose statements are alike."""

    def __init__(self, language: Language, lanes: int, declared: Iterable[str] = ()) -> None:
        """Slices have so many lanes."""
        super().__init__(dict.fromkeys(declared))
        self._language, self._lanes = language, lanes

    def printed(self, body: Statements) -> Printed:
        return Printed("\n".join(indented(self.lines(body))))

    def _simple(self, item: Simple) -> list[str]:
        if isinstance(item, Assign):
            return [f"{item.target.text} {item.sign} {item.value.text}"]
        if isinstance(item, Evaluate):
            return [item.value.text]
        if isinstance(item, Return):
            return ["return" if item.value is None else f"return {item.value}"]
        return [self._start(item)]

    def _start(self, declared: Declare) -> str:
        self._declare(declared.name, None)
        type = self._language.name_of(declared.type, self._lanes)
        size = f"[{declared.size}]" if declared.size else ""
        value = "" if declared.value is None else f" = {declared.value.text}"
        return f"{type} {declared.name}{size}{value}"

    def _condition(self, condition: Expression) -> str:
        return condition.text

    def _head(self, word: str, condition: str) -> str:
        return f"{word} ({condition})"

    def _headed(self, head: str, inner: Sequence[str], short: bool) -> list[str]:
        """Braces are around several lines, and around other statements with a head."""
        if len(inner) > 1 or (inner and not short):
            return [*wrapped(f"{head} {{", self._width), *indented(inner), "}"]
        if len(head) + len(STEP) + sum(map(len, inner)) < self._width or not inner:
            return [f"{head} {line}" for line in inner]
        return [*wrapped(head, self._width), *indented(inner)]

    def _if(self, item: If) -> list[str]:
        head = self._head("if", self._condition(item.condition))
        then, other = self.lines(item.then), self.lines(item.other)
        if not other:
            return self._headed(head, then, item.then.plain)
        if len(then) == len(other) == 1 and item.then.plain and item.other.plain:
            return [*self._headed(head, then, True), *self._headed("else", other, True)]
        opened = wrapped(f"{head} {{", self._width)
        return [*opened, *indented(then), "} else {", *indented(other), "}"]


def indented(lines: Iterable[str]) -> list[str]:
    return [STEP + line for line in lines]
