"""The tags of templates for statements of a kernel.

    {% let place = from + i * inner %}             {% each i in range(size) %} ... {% end %}
    {% var total = number(0) %}                    {% kept s in range(slices) %} ... {% end %}
    {% fill sum[p] = bias.read(0, 0, gs, 0) %}     {% unrolled p in range(pixels) %} ... {% end %}
    {% total += x.read(place) %}                   {% when a < b %} ... {% else %} ... {% end %}
    {{ store_at(total, place) }}                   {% while low < high %} ... {% end %}

Each becomes calls of functions of `control` and `declarations`. Names that `let` and `var` declare
are expressions from there on.
"""

from collections.abc import Iterator

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser

JINJA = {
    *("for", "endfor", "if", "elif", "else", "endif", "block", "endblock", "extends"),
    *("macro", "endmacro", "call", "endcall", "from", "import", "include", "set", "endset", "do"),
}

Nodes = list[nodes.Node]

ASSIGN = "assign"  # The tag of an assignment, which templates leave out.


class StatementTags(Extension):
    """The extension of jinja2."""

    tags = {"let", "var", "fill", "each", "kept", "rolled", "unrolled", "when", "while", ASSIGN}  # noqa: RUF012
    _known = frozenset({*JINJA, *tags, "end"})

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Put the tag of an assignment where one begins with what it assigns to."""
        for token in stream:
            yield token
            if token.type == "block_begin":
                name = stream.current
                if name.type == "name" and name.value not in self._known:
                    yield Token(name.lineno, "name", ASSIGN)

    def parse(self, parser: Parser) -> nodes.Node | Nodes:
        """The nodes of a tag (TemplateSyntaxError)."""
        tag = next(parser.stream)
        found: nodes.Node | Nodes
        if tag.value in ("let", "var"):
            found = self._declare(parser, tag)
        elif tag.value == "fill":
            found = self._fill(parser)
        elif tag.value == ASSIGN:
            found = self._assign(parser)
        elif tag.value in ("each", "kept", "rolled", "unrolled"):
            found = self._loop(parser, tag)
        else:
            found = self._conditional(parser, tag)
        for node in found if isinstance(found, list) else [found]:
            node.set_lineno(tag.lineno)
        return found

    def _declare(self, parser: Parser, tag: Token) -> Nodes:
        """`let name = value`: the name becomes what stands for the variable.

        `let a, b = pair` declares several; `let own[key] = value` declares one of a dictionary of
        variables, which is called `key`, or `own0` if the key is the number 0.
        """
        function = "constant" if tag.value == "let" else "variable"
        targets = [parser.parse_assign_target(name_only=True)]
        while parser.stream.skip_if("comma"):
            targets.append(parser.parse_assign_target(name_only=True))
        key = None
        if parser.stream.skip_if("lbracket"):
            key = parser.parse_expression()
            parser.stream.expect("rbracket")
        parser.stream.expect("assign")
        value = parser.parse_expression()
        if key is not None:
            name = nodes.Name(targets[0].name, "load")
            return _declared_in(parser, function, name, key, value)
        if len(targets) == 1:
            return _declared(parser, function, targets[0], value)
        values = parser.free_identifier()
        found: Nodes = [nodes.Assign(values, value)]
        for number, target in enumerate(targets):
            part = nodes.Getitem(values, nodes.Const(number), "load")
            found += _declared(parser, function, target, part)
        return found

    def _fill(self, parser: Parser) -> nodes.Node:
        """`fill array[n] = value`: declares an array of which each element has a value."""
        array = parser.stream.expect("name").value
        parser.stream.expect("lbracket")
        index = parser.parse_assign_target(name_only=True)
        parser.stream.expect("rbracket")
        parser.stream.expect("assign")
        value = nodes.Output([parser.parse_expression()])
        call = _call("filled", nodes.Name(array, "load"), nodes.Const(index.name))
        return nodes.CallBlock(call, [_parameter(index)], [], [value])

    def _assign(self, parser: Parser) -> nodes.Node:
        """`target = value`, or with an operator before the sign."""
        target = parser.parse_unary(with_filter=False)
        operator = "" if parser.stream.current.type == "assign" else next(parser.stream).value
        operator = "/" if operator == "//" else operator
        parser.stream.expect("assign")
        value = parser.parse_expression()
        return nodes.Output([_filter("assigned", target, nodes.Const(f"{operator}="), value)])

    def _loop(self, parser: Parser, tag: Token) -> nodes.Node:
        """`each counter in range(...)`, with the bounds and the step of Python's range, and with
        how `long` it is at most where that does not follow from numbers; or `in halves(first)`; or
        `kept slice, lanes in slices(channels)`.
        """
        targets = [parser.parse_assign_target(name_only=True)]
        if parser.stream.skip_if("comma"):
            targets.append(parser.parse_assign_target(name_only=True))
        parser.stream.expect("name:in")
        bounds = parser.parse_expression()
        if not isinstance(bounds, nodes.Call) or not isinstance(bounds.node, nodes.Name):
            parser.fail(f"{tag.value} takes a range, halves or slices", tag.lineno)
        function = {"halves": "halves", "slices": "by_slices"}.get(bounds.node.name, tag.value)
        body = parser.parse_statements(("name:end",), drop_needle=True)
        call = _call(function, nodes.Const(targets[0].name), *bounds.args)
        call.kwargs = bounds.kwargs
        return nodes.CallBlock(call, [*map(_parameter, targets)], [], body)

    def _conditional(self, parser: Parser, tag: Token) -> Nodes:
        """`when condition` or `while condition`."""
        condition = parser.free_identifier()
        found: Nodes = [nodes.Assign(condition, parser.parse_expression())]
        body = parser.parse_statements(("name:else", "name:end"))
        bodies = [_if_any(parser, condition, "FALSE", body, found)]
        if next(parser.stream).value == "else":
            body = parser.parse_statements(("name:end",), drop_needle=True)
            bodies.append(_if_any(parser, condition, "TRUE", body, found))
        function = "as_long_as" if tag.value == "while" else tag.value
        return [*found, nodes.Output([_call(function, condition, *bodies)])]


def _declared(parser: Parser, function: str, target: nodes.Name, value: nodes.Expr) -> Nodes:
    held = parser.free_identifier()
    return [
        nodes.Assign(held, _filter(function, value, nodes.Const(target.name))),
        nodes.Assign(target, nodes.Getattr(held, "value", "load")),
        nodes.Output([nodes.Getattr(held, "statements", "load")]),
    ]


def _declared_in(
    parser: Parser, function: str, name: nodes.Name, key: nodes.Expr, value: nodes.Expr
) -> Nodes:
    """One of a dictionary of variables."""
    held, place = parser.free_identifier(), parser.free_identifier()
    entry = nodes.Dict([nodes.Pair(place, nodes.Getattr(held, "value", "load"))])
    update = nodes.Getattr(name, "update", "load")
    called = _filter("called", place, nodes.Const(name.name))
    return [
        nodes.Assign(place, key),
        nodes.Assign(held, _filter(function, value, called)),
        nodes.ExprStmt(nodes.Call(update, [entry], [], None, None)),
        nodes.Output([nodes.Getattr(held, "statements", "load")]),
    ]


def _if_any(
    parser: Parser, condition: nodes.Expr, unless: str, body: Nodes, found: Nodes
) -> nodes.InternalName:
    """What holds the statements of a body, which is only rendered if it can be reached."""
    held = parser.free_identifier()
    test = nodes.Compare(condition, [nodes.Operand("ne", nodes.Name(unless, "load"))])
    found.append(nodes.Assign(held, nodes.Const("")))
    found.append(nodes.If(test, [nodes.AssignBlock(held, None, body)], [], []))
    return held


def _filter(function: str, value: nodes.Expr, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, function, list(arguments), [], None, None)


def _call(function: str, *arguments: nodes.Expr) -> nodes.Call:
    return nodes.Call(nodes.Name(function, "load"), list(arguments), [], None, None)


def _parameter(name: nodes.Name) -> nodes.Name:
    return nodes.Name(name.name, "param")
