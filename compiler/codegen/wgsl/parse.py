"""The parser of intrinsics' definitions in GLSL: recursive descent, with operators by precedence.

The latter is by Pratt (1973). Kernels are built of expressions and statements; only what
`templates/intrinsics.toml` defines in GLSL is text, which is read once to be printed in WGSL.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from ...language.expression import Expression, Name, Operation, Unary
from ...language.language import WGSL
from ...language.notation import CHOICE, INFIX, OR
from ...language.primary import Call, Choice, Element, Member, Numeral, Step
from ...language.statement import (
    Assign,
    Declare,
    Evaluate,
    For,
    If,
    Remark,
    Return,
    Statement,
    Statements,
)
from ..intrinsics import defined_text, intrinsics
from .definitions import Function, Macro
from .types import known

_TOKEN = re.compile(
    r"//[^\n]*"  # a comment
    r"|0x[0-9a-fA-F]+u?|\d+\.?\d*(?:[eE][-+]?\d+)?[fu]?"  # a number
    r"|\w+"
    r"|<<=|>>=|\+\+|--|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\S"  # an operator
)
_ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_DEFINE = re.compile(r"#define (\w+)(?:\(([^)]*)\))? ")
_Item = TypeVar("_Item")


class ParseError(ValueError):
    """A definition that cannot be read; the message shows where."""


@cache
def definitions_of(name: str) -> tuple[Function | Macro, ...]:
    """What an intrinsic stands for in WGSL: functions by their types, or a macro at the end.

    Nothing for other names. ParseError for what is not in GLSL.
    """
    found = intrinsics().get(name)
    if found is None or WGSL.name not in found.definitions:
        return ()
    return parse_definitions(defined_text(found, WGSL))


def parse_definitions(text: str) -> tuple[Function | Macro, ...]:
    """The functions and macros of a definition (ParseError)."""
    macros = []
    functions = []
    for line in text.strip().splitlines():
        head = _DEFINE.match(line)
        if head is None:
            functions.append(line)
            continue
        names = tuple(re.findall(r"\w+", head[2] or ""))
        macros.append(Macro(head[1], names, _Parser(line[head.end() :]).macro()))
    return (*_Parser("\n".join(functions)).functions(), *macros)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [each for each in _TOKEN.findall(text) if each != "mediump"]
        self._tokens.append("")
        self._place = 0

    # -- tokens -------------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        return self._tokens[self._place]

    def _take(self) -> str:
        if not self._next:
            raise ParseError(f"the text ends early: {' '.join(self._tokens[-16:])}")
        self._place += 1
        return self._tokens[self._place - 1]

    def _taken(self, *tokens: str) -> str:
        """The next token, which is taken if it is one of these; "" otherwise."""
        return self._take() if self._next in tokens else ""

    def _expect(self, token: str) -> None:
        if self._next != token:
            shown = " ".join(self._tokens[max(self._place - 12, 0) : self._place + 3])
            raise ParseError(f"expected {token!r}, not {self._next!r}, in: {shown}")
        self._place += 1

    def _separated(self, item: Callable[[], _Item]) -> list[_Item]:
        """Items with commas between them."""
        found = [item()]
        while self._taken(","):
            found.append(item())
        return found

    def _listed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Items, or none, in parentheses, of which the first one has been taken."""
        found = [] if self._next == ")" else self._separated(item)
        self._expect(")")
        return found

    # -- statements ---------------------------------------------------------------------------

    def functions(self) -> list[Function]:
        found = []
        while self._next:
            kind, name = self._take(), self._take()
            self._expect("(")
            parameters = self._listed(lambda: Declare(self._take(), self._take()))
            found.append(Function(kind, name, tuple(parameters), self._body()))
        return found

    def _body(self) -> Statements:
        """Statements in braces, or a single one."""
        if not self._taken("{"):
            return Statements(tuple(self._statement()))
        found: list[Statement] = []
        while not self._taken("}"):
            found += self._statement()
        return Statements(tuple(found))

    def _statement(self) -> Sequence[Statement]:
        if self._next.startswith("//"):
            return [Remark(self._take())]
        if self._taken("if"):
            condition, then = self._primary(), self._body()
            return [If(condition, then, self._body() if self._taken("else") else Statements(()))]
        if self._taken("for"):
            return [self._for()]
        found: Sequence[Statement]
        if self._taken("return"):
            found = [Return(self.expression())]
        else:
            found = self._declarations() if self._declares() else self.changes()
        self._expect(";")
        return found

    def _for(self) -> For:
        self._expect("(")
        start = self._declarations()[0] if self._declares() else None
        self._expect(";")
        condition = self.expression()
        self._expect(";")
        step = self._change()
        self._expect(")")
        return For(start, condition, step, self._body())

    def _declares(self) -> bool:
        return known(self._next) and self._tokens[self._place + 1].isidentifier()

    def _declarations(self) -> list[Declare]:
        kind = self._take()

        def declared() -> Declare:
            name = self._take()
            return Declare(kind, name, value=self.expression() if self._taken("=") else None)

        return self._separated(declared)

    def macro(self) -> tuple[Assign | Evaluate, ...]:
        """What the text of a macro stands for, to its end."""
        found = self.changes()
        self._expect("")
        return tuple(found)

    def changes(self) -> list[Assign | Evaluate]:
        """Assignments and calls with commas between them."""
        return self._separated(self._change)

    def _change(self) -> Assign | Evaluate:
        target = self.expression()
        sign = self._taken(*_ASSIGNS)
        return Assign(target, sign, self.expression()) if sign else Evaluate(target)

    # -- expressions --------------------------------------------------------------------------

    def expression(self) -> Expression:
        condition = self._binary(OR)
        if not self._taken("?"):
            return condition
        chosen = self.expression()
        self._expect(":")
        return Choice(condition, chosen, self.expression())

    def _binary(self, least: int) -> Expression:
        left = self._unary()
        while (level := INFIX.get(self._next, CHOICE)) >= least:
            left = Operation(self._take(), left, self._binary(level + 1))
        return left

    def _unary(self) -> Expression:
        sign = self._taken("-", "!", "~")
        return Unary(sign, self._unary()) if sign else self._postfix(self._primary())

    def _postfix(self, value: Expression) -> Expression:
        while sign := self._taken("[", ".", "++", "--"):
            if sign == "[":
                value = Element(value, self.expression())
                self._expect("]")
            elif sign == ".":
                value = Member(value, self._take(), value.type)
            else:
                value = Step(value, 1 if sign == "++" else -1)
        return value

    def _primary(self) -> Expression:
        text = self._next
        if text[:1].isdigit():
            return Numeral(self._take(), _type_of_number(text))
        if text.isidentifier():
            self._place += 1
            return Call(text, *self._listed(self.expression)) if self._taken("(") else Name(text)
        self._expect("(")
        value = self.expression()
        self._expect(")")
        return value


def _type_of_number(text: str) -> str:
    if text.endswith("u"):
        return "uint"
    return "int" if text.startswith("0x") or text.isdigit() else "float"
