"""The parser of kernel text: recursive descent, with operators by precedence (Pratt, 1973)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from . import tree

TYPE = re.compile(r"void$|int$|uint$|float$|bool$|float16_t$|(?:|i|u|b|f16)vec[234]$")
QUALIFIERS = {"highp", "mediump", "lowp", "const"}

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r"|(?P<number>0x[0-9a-fA-F]+u?|(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?f?|\d+u?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^!~<>=?:;,.(){}\[\]])"
    r"|(?P<end>\n)|[ \t]+|(?P<unknown>.)"
)
_INFIX = {
    sign: level
    for level, signs in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), start=1
    )
    for sign in signs.split()
}
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_DEFINE = re.compile(r"#define (\w+)(?:\(([^)]*)\))? ")


class ParseError(ValueError):
    """Kernel text that is not in the kernel language; the message has the line."""


def parse_statements(text: str) -> tuple[tree.Statement, ...]:
    """The body of a kernel (ParseError)."""
    return _Parser(text).statements("")


@cache
def parse_definitions(text: str) -> tuple[tree.Function | tree.Macro, ...]:
    """The definition of an intrinsic: functions and macros (ParseError)."""
    found: list[tree.Function | tree.Macro] = []
    functions = []
    for line in text.strip().splitlines():
        macro = _DEFINE.match(line)
        if macro is None:
            functions.append(line)
            continue
        body = tuple(_Parser(line[macro.end() :]).parts_of_macro())
        names = tuple(name.strip() for name in (macro[2] or "").split(",") if name.strip())
        used = [
            node.name
            for each in body
            for expression in _expressions(each)
            for node in tree.within(expression)
            if isinstance(node, tree.Name)
        ]
        found.append(tree.Macro(macro[1], names, body, {name: used.count(name) for name in names}))
    return (*_Parser("\n".join(functions)).functions(), *found)


def _expressions(statement: tree.Statement) -> Sequence[tree.Expression]:
    if isinstance(statement, tree.Assign):
        return (statement.target, statement.value)
    assert isinstance(statement, tree.Evaluate)
    return (statement.value,)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        begins = True
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind == "end":
                begins = True
            elif kind == "unknown":
                raise ParseError(f"cannot read {match[0]!r} in: {_line(text, match.start())}")
            elif kind and match[0] not in QUALIFIERS:
                kind = "line" if kind == "comment" and begins else kind
                self._tokens.append((kind, match[0]))
                begins = False
        self._tokens.append(("", ""))
        self._place = 0
        self._scopes: list[dict[str, tree.Declare]] = [{}]

    # -- tokens -------------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        return self._tokens[self._place][1]

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1][1]

    def _taken(self, text: str) -> bool:
        if self._tokens[self._place][1] != text:
            return False
        self._place += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._taken(text):
            around = self._tokens[max(self._place - 12, 0) : self._place + 3]
            shown = " ".join(token for _, token in around)
            raise ParseError(f"expected {text!r}, not {self._next!r}, in: {shown}")

    # -- statements ---------------------------------------------------------------------------

    def statements(self, end: str) -> tuple[tree.Statement, ...]:
        """The statements up to a token, which is taken."""
        self._scopes.append({})
        found: list[tree.Statement] = []
        while self._next != end:
            for statement in self._statement():
                last = found[-1] if found else None
                if isinstance(statement, tree.Assign) and _initializes(statement, last):
                    assert isinstance(last, tree.Declare)
                    last.value = statement.value
                    last.changes -= 1
                else:
                    found.append(statement)
        self._take()
        self._scopes.pop()
        return tuple(found)

    def _statement(self) -> list[tree.Statement]:
        kind, text = self._tokens[self._place]
        if kind in ("comment", "line"):
            self._place += 1
            return [tree.Comment(text, kind == "comment")]
        if text == "{":
            self._place += 1
            body = self.statements("}")
            # Braces tell only where variables end.
            declares = any(isinstance(each, tree.Declare) for each in body)
            return [tree.Block(body)] if declares else list(body)
        if text == ";":
            self._place += 1
            return []
        if text in _KEYWORDS:
            self._place += 1
            return [_KEYWORDS[text](self)]
        if kind == "":
            raise ParseError("the text ends within a block")
        found = self._declarations() if self._declares() else self.parts_of_macro()
        self._expect(";")
        return found

    def _declares(self) -> bool:
        return bool(TYPE.match(self._next)) and self._tokens[self._place + 1][0] == "word"

    def _declarations(self) -> list[tree.Statement]:
        kind = self._take()
        found: list[tree.Statement] = []
        while True:
            declared = tree.Declare(kind, self._take())
            if self._taken("["):
                declared.size = self.expression()
                self._expect("]")
            if self._taken("="):
                declared.value = self.expression()
            self._scopes[-1][declared.name] = declared
            found.append(declared)
            if not self._taken(","):
                return found

    def parts_of_macro(self) -> list[tree.Statement]:
        """Assignments and calls with commas between them."""
        found: list[tree.Statement] = []
        while True:
            target = self.expression()
            if self._next in _ASSIGNS:
                sign = self._take()
                self._changes(target)
                found.append(tree.Assign(target, sign, self.expression()))
            else:
                found.append(tree.Evaluate(target))
            if not self._taken(","):
                return found

    def _changes(self, target: tree.Expression) -> None:
        """Count a change of the variable of which `target` is a part."""
        while isinstance(target, tree.Index | tree.Member):
            target = target.array if isinstance(target, tree.Index) else target.value
        if isinstance(target, tree.Name):
            for scope in reversed(self._scopes):
                if target.name in scope:
                    scope[target.name].changes += 1
                    return

    def _body(self) -> tuple[tree.Statement, ...]:
        if self._taken("{"):
            body = self.statements("}")
            return body[0].body if len(body) == 1 and isinstance(body[0], tree.Block) else body
        self._scopes.append({})
        found = tuple(self._statement())
        # A comment after the statement belongs to it.
        while self._tokens[self._place][0] == "comment":
            found += tuple(self._statement())
        self._scopes.pop()
        return found

    def _condition(self) -> tree.Expression:
        self._expect("(")
        condition = self.expression()
        self._expect(")")
        return condition

    def _if(self) -> tree.Statement:
        condition, then = self._condition(), self._body()
        return tree.If(condition, then, self._body() if self._taken("else") else ())

    def _for(self) -> tree.Statement:
        self._scopes.append({})
        self._expect("(")
        start: list[tree.Statement] = []
        if self._next != ";":
            start = self._declarations() if self._declares() else self.parts_of_macro()
        self._expect(";")
        condition = None if self._next == ";" else self.expression()
        self._expect(";")
        step = [] if self._next == ")" else self.parts_of_macro()
        self._expect(")")
        body = self._body()
        self._scopes.pop()
        return tree.For(tuple(start), condition, tuple(step), body)

    def _while(self) -> tree.Statement:
        return tree.While(self._condition(), self._body())

    def _return(self) -> tree.Statement:
        value = None if self._next == ";" else self.expression()
        self._expect(";")
        return tree.Return(value)

    def _jump(self) -> tree.Statement:
        word = self._tokens[self._place - 1][1]
        self._expect(";")
        return tree.Jump(word)

    def functions(self) -> list[tree.Function]:
        found = []
        while self._next:
            kind, name = self._take(), self._take()
            self._expect("(")
            self._scopes.append({})
            parameters = []
            while not self._taken(")"):
                parameters.append(tree.Declare(self._take(), self._take()))
                self._scopes[-1][parameters[-1].name] = parameters[-1]
                self._taken(",")
            self._expect("{")
            found.append(tree.Function(kind, name, tuple(parameters), self.statements("}")))
            self._scopes.pop()
        return found

    # -- expressions --------------------------------------------------------------------------

    def expression(self) -> tree.Expression:
        condition = self._binary(1)
        if not self._taken("?"):
            return condition
        chosen = self.expression()
        self._expect(":")
        return tree.Choice(condition, chosen, self.expression())

    def _binary(self, least: int) -> tree.Expression:
        left = self._unary()
        while True:
            sign = self._tokens[self._place][1]
            level = _INFIX.get(sign, 0)
            if level < least:
                return left
            self._place += 1
            left = tree.Binary(sign, left, self._binary(level + 1))

    def _unary(self) -> tree.Expression:
        sign = self._tokens[self._place][1]
        if sign in ("-", "!", "~", "+"):
            self._place += 1
            operand = self._unary()
            return operand if sign == "+" else tree.Unary(sign, operand)
        if sign in ("++", "--"):
            self._place += 1
            return self._step(self._unary(), sign, True)
        return self._postfix(self._primary())

    def _postfix(self, value: tree.Expression) -> tree.Expression:
        while True:
            if self._taken("["):
                value = tree.Index(value, self.expression())
                self._expect("]")
            elif self._taken("."):
                value = tree.Member(value, self._take())
            elif self._next in ("++", "--"):
                return self._step(value, self._take(), False)
            else:
                return value

    def _step(self, variable: tree.Expression, sign: str, first: bool) -> tree.Expression:
        self._changes(variable)
        return tree.Step(variable, 1 if sign == "++" else -1, first)

    def _primary(self) -> tree.Expression:
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            return tree.Literal(text, _type_of_number(text))
        if kind == "word":
            if text in ("true", "false"):
                return tree.Literal(text, "bool")
            if not self._taken("("):
                return tree.Name(text)
            arguments = []
            while not self._taken(")"):
                arguments.append(self.expression())
                if self._next != ")":
                    self._expect(",")
            return tree.Call(text, tuple(arguments))
        if text == "(":
            value = self.expression()
            self._expect(")")
            return value
        self._place -= 1
        self._expect("an expression")
        raise AssertionError


_KEYWORDS = {
    "if": _Parser._if,
    "for": _Parser._for,
    "while": _Parser._while,
    "return": _Parser._return,
    "break": _Parser._jump,
    "continue": _Parser._jump,
}


def _type_of_number(text: str) -> str:
    if text.startswith("0x") or text.isdigit() or text.endswith("u"):
        return "uint" if text.endswith("u") else "int"
    return "float"


def _initializes(statement: tree.Assign, last: tree.Statement | None) -> bool:
    """Whether an assignment is the first one to the variable declared just before it."""
    return (
        isinstance(last, tree.Declare)
        and statement.sign == "="
        and statement.target == tree.Name(last.name)
        and last.value is None
        and last.size is None
    )


def _line(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].split("\n", 1)[0].strip()
