"""The parser of intrinsics' definitions in GLSL: recursive descent, with operators by precedence.

The latter is by Pratt (1973). Kernels are built of expressions and statements; only what
`templates/intrinsics.toml` defines in GLSL is text, which is read once to be printed in WGSL.
"""

from __future__ import annotations

import re
from functools import cache

from ...language import (
    Call,
    Choice,
    Element,
    Expression,
    Member,
    Name,
    Numeral,
    Operation,
    Step,
    Unary,
)
from ...language.notation import CHOICE, INFIX, OR
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
from .definitions import Function, Macro
from .types import known

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r"|(?P<number>0x[0-9a-fA-F]+u?|(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?f?|\d+u?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^!~<>=?:;,.(){}\[\]])"
    r"|\s+|(?P<unknown>.)"
)
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_DEFINE = re.compile(r"#define (\w+)(?:\(([^)]*)\))? ")


class ParseError(ValueError):
    """A definition that cannot be read; the message shows where."""


@cache
def parse_definitions(text: str) -> tuple[Function | Macro, ...]:
    """The functions and macros of a definition (ParseError)."""
    macros = []
    functions = []
    for line in text.strip().splitlines():
        head = _DEFINE.match(line)
        if head is None:
            functions.append(line)
            continue
        names = tuple(name.strip() for name in (head[2] or "").split(",") if name.strip())
        parts = _Parser(line[head.end() :]).parts_of_macro()
        macros.append(Macro.of(head[1], names, tuple(parts)))
    return (*_Parser("\n".join(functions)).functions(), *macros)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind == "unknown":
                line = text[text.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0].strip()
                raise ParseError(f"cannot read {match[0]!r} in: {line}")
            if kind and match[0] != "mediump":
                self._tokens.append((kind, match[0]))
        self._tokens.append(("", ""))
        self._place = 0

    # -- tokens -------------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        return self._tokens[self._place][1]

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1][1]

    def _taken(self, text: str) -> bool:
        if self._next != text:
            return False
        self._place += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._taken(text):
            around = self._tokens[max(self._place - 12, 0) : self._place + 3]
            shown = " ".join(token for _, token in around)
            raise ParseError(f"expected {text!r}, not {self._next!r}, in: {shown}")

    # -- statements ---------------------------------------------------------------------------

    def functions(self) -> list[Function]:
        found = []
        while self._next:
            kind, name = self._take(), self._take()
            self._expect("(")
            parameters = []
            while not self._taken(")"):
                parameters.append(Declare(self._take(), self._take()))
                self._taken(",")
            self._expect("{")
            found.append(Function(kind, name, tuple(parameters), self._block()))
        return found

    def _block(self) -> Statements:
        """The statements up to a brace, which is taken."""
        found: list[Statement] = []
        while not self._taken("}"):
            found += self._statement()
        return Statements(tuple(found))

    def _statement(self) -> list[Statement]:
        kind = self._tokens[self._place][0]
        if kind == "comment":
            return [Remark(self._take())]
        if self._taken("if"):
            return [self._if()]
        if self._taken("for"):
            return [self._for()]
        found: list[Statement]
        if self._taken("return"):
            found = [Return(self.expression())]
        elif kind == "":
            raise ParseError("the text ends within a block")
        else:
            found = [*(self._declarations() if self._declares() else self.parts_of_macro())]
        self._expect(";")
        return found

    def _declares(self) -> bool:
        return known(self._next) and self._tokens[self._place + 1][0] == "word"

    def _declarations(self) -> list[Declare]:
        kind = self._take()
        found = []
        while True:
            name = self._take()
            value = self.expression() if self._taken("=") else None
            found.append(Declare(kind, name, value=value))
            if not self._taken(","):
                return found

    def parts_of_macro(self) -> list[Assign | Evaluate]:
        """Assignments and calls with commas between them."""
        found: list[Assign | Evaluate] = []
        while True:
            target = self.expression()
            if self._next in _ASSIGNS:
                found.append(Assign(target, self._take(), self.expression()))
            else:
                found.append(Evaluate(target))
            if not self._taken(","):
                return found

    def _body(self) -> Statements:
        return self._block() if self._taken("{") else Statements(tuple(self._statement()))

    def _if(self) -> Statement:
        self._expect("(")
        condition = self.expression()
        self._expect(")")
        then = self._body()
        return If(condition, then, self._body() if self._taken("else") else Statements(()))

    def _for(self) -> Statement:
        self._expect("(")
        start = self._declarations()[0] if self._declares() else None
        self._expect(";")
        condition = self.expression()
        self._expect(";")
        (step,) = self.parts_of_macro()
        self._expect(")")
        return For(start, condition, step, self._body())

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
        while True:
            sign = self._next
            level = INFIX.get(sign, CHOICE)
            if level < least:
                return left
            self._place += 1
            left = Operation(sign, left, self._binary(level + 1))

    def _unary(self) -> Expression:
        sign = self._next
        if sign in ("-", "!", "~"):
            self._place += 1
            return Unary(sign, self._unary())
        return self._postfix(self._primary())

    def _postfix(self, value: Expression) -> Expression:
        while True:
            if self._taken("["):
                value = Element(value, self.expression())
                self._expect("]")
            elif self._taken("."):
                value = Member(value, self._take(), value.type)
            elif self._next in ("++", "--"):
                return Step(value, 1 if self._take() == "++" else -1)
            else:
                return value

    def _primary(self) -> Expression:
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            return Numeral(text, _type_of_number(text))
        if kind == "word":
            return Call(text, *self._arguments()) if self._taken("(") else Name(text)
        if text == "(":
            value = self.expression()
            self._expect(")")
            return value
        self._place -= 1
        self._expect("an expression")
        raise AssertionError

    def _arguments(self) -> list[Expression]:
        found = []
        while not self._taken(")"):
            found.append(self.expression())
            if self._next != ")":
                self._expect(",")
        return found


def _type_of_number(text: str) -> str:
    if text.endswith("u"):
        return "uint"
    return "int" if text.startswith("0x") or text.isdigit() else "float"
