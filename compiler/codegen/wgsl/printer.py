"""The printer of WGSL: from the trees of a kernel's text to lines, with the types of all values.

WGSL has no macros and no conditional operator, and its expressions change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...language.kernel import tree
from ...language.wrapping import STEP, WIDTH, wrapped
from .builtins import ATOMICS, VARIABLES, Unprintable, builtin
from .types import known, scalar, vector, wgsl
from .values import (
    ATOM,
    SUM,
    Value,
    binary,
    called,
    chosen,
    constructed,
    filled,
    number,
    shift,
    unary,
)
from .words import named

Definitions = Mapping[str, Sequence[tree.Function | tree.Macro]]
"""What intrinsics stand for: functions by their types, or a macro."""


class Printer:
    """Prints one kernel. `arrays` has the types of those in buffers and in local memory."""

    def __init__(
        self, arrays: Mapping[str, str], intrinsics: Definitions, atomic: frozenset[str]
    ) -> None:
        """`atomic` names the arrays of which elements are changed atomically."""
        self._scopes: list[dict[str, str]] = [dict(arrays)]
        """The type of each variable, in the scopes from the outside in."""
        self._intrinsics, self._atomic = intrinsics, atomic
        self._calls: dict[tuple[str, tuple[str, ...]], Value] = {}
        """Name and result of each function that is printed, by the intrinsic and its arguments."""
        self._steps: dict[str, int] = {}
        """By how much the statement that is printed changes variables within expressions."""
        self._width = WIDTH
        """Most characters of a line but for its indentation."""
        self.functions: dict[str, list[str]] = {}
        """The lines of the functions that the kernel calls, by name."""
        self.changed: set[str] = set()
        """The arrays of which elements were seen to change atomically."""
        self.read: set[str] = set()
        """The names of variables and arrays that were printed."""

    # -- statements ---------------------------------------------------------------------------

    def statements(self, body: Sequence[tree.Statement]) -> list[str]:
        """The lines of statements in a scope of their own."""
        lines: list[str] = []
        self._width -= len(STEP)
        with self._scope({}):
            for statement in body:
                if isinstance(statement, tree.Comment) and statement.trailing and lines:
                    lines[-1] += f"  {statement.text}"
                else:
                    lines += self._statement(statement)
        self._width += len(STEP)
        return lines

    @contextmanager
    def _scope(self, variables: dict[str, str]) -> Iterator[None]:
        self._scopes.append(variables)
        yield
        self._scopes.pop()

    def _statement(self, statement: tree.Statement) -> list[str]:
        if isinstance(statement, tree.Comment):
            return [statement.text]
        if isinstance(statement, tree.Block):
            return ["{", *_indented(self.statements(statement.body)), "}"]
        if isinstance(statement, tree.If):
            return self._if(statement)
        if isinstance(statement, tree.For):
            return self._for(statement)
        if isinstance(statement, tree.While):
            head = f"while {self._condition(statement.condition)}"
            return self._headed(head, self.statements(statement.body))
        if isinstance(statement, tree.Evaluate) and isinstance(statement.value, tree.Call):
            expanded = self._expanded(statement.value)
            if expanded:
                return [line for each in expanded for line in self._statement(each)]
        texts = self._simple(statement)
        return [line for text in texts for line in wrapped(f"{text};", self._width)]

    def _simple(self, statement: tree.Statement) -> list[str]:
        """A statement without others in it, and then the steps of variables in it."""
        text = self._without_steps(statement)
        steps = [_step(named(name), by) for name, by in self._steps.items()]
        self._steps = {}
        return [text, *steps] if text else steps

    def _without_steps(self, statement: tree.Statement) -> str:
        if isinstance(statement, tree.Declare):
            return self._declaration(statement)
        if isinstance(statement, tree.Assign):
            return self._assignment(statement)
        if isinstance(statement, tree.Return):
            value = statement.value
            return f"return {self.expression(value).text}" if value else "return"
        if isinstance(statement, tree.Jump):
            return statement.word
        assert isinstance(statement, tree.Evaluate)
        value = statement.value
        text = self.expression(value).text
        return "" if isinstance(value, tree.Step) else text

    def _declaration(self, declared: tree.Declare) -> str:
        name, type = named(declared.name), wgsl(declared.type)
        if declared.size is not None:
            self._scopes[-1][declared.name] = f"{declared.type}[]"
            return f"var {name}: array<{type}, {self.expression(declared.size).text}>"
        value = declared.value and self.expression(_straight(declared.value))
        self._scopes[-1][declared.name] = declared.type
        if not value:
            return f"var {name}: {type}"
        return f"{'var' if declared.changes else 'let'} {name} = {value.text}"

    def _assignment(self, statement: tree.Assign) -> str:
        target, value = self._place(statement.target), self.expression(statement.value)
        if statement.sign in ("<<=", ">>="):
            value = shift(value, target.type)
        elif statement.sign in ("&=", "|=", "^="):
            value = filled(value, target.type)
        if self._is_atomic(statement.target):
            return f"atomicStore(&{target.text}, {value.text})"
        return f"{target.text} {statement.sign} {value.text}"

    def _if(self, statement: tree.If) -> list[str]:
        lines = self._headed(
            f"if {self._condition(statement.condition)}",
            self.statements(statement.then),
            alone=not statement.other,
        )
        if not statement.other:
            return lines
        others = self.statements(statement.other)
        if len(statement.other) == 1 and isinstance(statement.other[0], tree.If):
            return [*lines[:-1], f"}} else {others[0]}", *others[1:]]
        return [*lines[:-1], *self._headed("} else", others, alone=False)]

    def _for(self, statement: tree.For) -> list[str]:
        with self._scope({}):
            start = [text for each in statement.start for text in self._simple(each)]
            condition = self._condition(statement.condition) if statement.condition else ""
            body = self.statements(statement.body)
            steps = [text for each in statement.step for text in self._simple(each)]
        if len(start) > 1 or len(steps) > 1:
            raise Unprintable("a loop declares or changes several variables; WGSL takes one")
        head = "; ".join(("".join(start), condition, "".join(steps)))
        return self._headed(f"for ({head})", body)

    def _headed(self, head: str, body: Sequence[str], alone: bool = True) -> list[str]:
        """A body in braces, on one line if it is short and nothing follows."""
        if alone and len(body) == 1 and body[0].endswith(";"):
            line = f"{head} {{ {body[0]} }}"
            if len(line) <= self._width:
                return [line]
        return [*wrapped(f"{head} {{", self._width), *_indented(body), "}"]

    def _condition(self, condition: tree.Expression) -> str:
        text = self.expression(condition).text
        if self._steps:
            raise Unprintable(f"the condition {text} changes a variable, which WGSL cannot")
        return text

    # -- expressions --------------------------------------------------------------------------

    def expression(self, node: tree.Expression) -> Value:
        """An expression that is read."""
        if isinstance(node, tree.Literal):
            return number(node)
        if isinstance(node, tree.Name):
            return self._name(node.name)
        if isinstance(node, tree.Binary):
            return binary(node.sign, self.expression(node.left), self.expression(node.right))
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.Index):
            place = self._place(node)
            atomic = self._is_atomic(node)
            return Value(f"atomicLoad(&{place.text})", place.type) if atomic else place
        if isinstance(node, tree.Member):
            return self._place(node)
        if isinstance(node, tree.Unary):
            return unary(node.sign, self.expression(node.operand))
        if isinstance(node, tree.Choice):
            return self._choice(node)
        return self._stepped(node)

    def _place(self, node: tree.Expression) -> Value:
        """A variable, or an element or lanes of one."""
        if isinstance(node, tree.Index):
            array, index = self._place(node.array), self.expression(node.index)
            type = array.type
            element = type.removesuffix("[]") if type.endswith("[]") else scalar(type)
            return Value(f"{array.within(ATOM)}[{index.text}]", element)
        if isinstance(node, tree.Member):
            value = self._place(node.value)
            type = vector(scalar(value.type), len(node.name))
            return Value(f"{value.within(ATOM)}.{node.name}", type)
        return self.expression(node)

    def _is_atomic(self, node: tree.Expression) -> bool:
        array = node.array if isinstance(node, tree.Index) else None
        return isinstance(array, tree.Name) and array.name in self._atomic

    def _name(self, name: str) -> Value:
        for scope in reversed(self._scopes):
            if name in scope:
                self.read.add(name)
                by, text = self._steps.get(name, 0), named(name)
                if not by:
                    return Value(text, scope[name])
                return Value(f"{text} {'+' if by > 0 else '-'} {abs(by)}", scope[name], SUM)
        if name in self._intrinsics:
            return self._call(tree.Call(name, ()))
        if name not in VARIABLES:
            raise Unprintable(f"no variable {name}")
        return VARIABLES[name]

    def _stepped(self, node: tree.Step) -> Value:
        """The value of a variable that the statement changes; the change follows the statement."""
        if not isinstance(node.variable, tree.Name):
            raise Unprintable("within expressions, only variables can be changed")
        name = node.variable.name
        before = self._name(name)
        self._steps[name] = self._steps.get(name, 0) + node.amount
        return self._name(name) if node.first else before

    def _choice(self, node: tree.Choice) -> Value:
        condition, before = self.expression(_straight(node.condition)), dict(self._steps)
        one, other = self.expression(node.chosen), self.expression(node.other)
        if self._steps != before:
            raise Unprintable(f"what {condition.text} chooses changes a variable, in any case")
        return chosen(condition, one, other)

    # -- calls --------------------------------------------------------------------------------

    def _call(self, node: tree.Call) -> Value:
        if node.function in ATOMICS:
            place, value = node.arguments
            assert isinstance(place, tree.Index) and isinstance(place.array, tree.Name)
            self.changed.add(place.array.name)
            target = self._place(place)
            return called(
                node.function,
                (target._replace(text=f"&{target.text}"), self.expression(value)),
                "void",
            )
        expanded = self._expanded(node)
        if expanded:
            (only,) = expanded
            assert isinstance(only, tree.Evaluate)
            return self.expression(only.value)
        arguments = [self.expression(each) for each in node.arguments]
        if node.function in self._intrinsics:
            function = self._function(node.function, tuple([each.type for each in arguments]))
            return called(function.text, arguments, function.type)
        if known(node.function):
            return constructed(node.function, arguments)
        return builtin(node.function, arguments)

    def _expanded(self, node: tree.Call) -> Sequence[tree.Statement]:
        """What a macro stands for, if it takes an array, or is no longer than its call."""
        macro = self._intrinsics[node.function][-1] if node.function in self._intrinsics else None
        if not isinstance(macro, tree.Macro):
            return ()
        value = isinstance(macro.body[0], tree.Evaluate) and len(macro.body) == 1
        short = max(macro.uses.values(), default=0) <= 1
        if value and not short and not any(map(self._is_array, node.arguments)):
            return ()
        by = dict(zip(macro.parameters, node.arguments, strict=True))
        for name, argument in by.items():
            if macro.uses[name] > 1 and any(
                isinstance(each, tree.Step) for each in tree.within(argument)
            ):
                raise Unprintable(f"{node.function} takes a variable that changes several times")
        return [_replaced(each, by) for each in macro.body]

    def _is_array(self, node: tree.Expression) -> bool:
        return isinstance(node, tree.Name) and self._name(node.name).type.endswith("[]")

    def _function(self, intrinsic: str, types: tuple[str, ...]) -> Value:
        """The function for arguments of such types, which is printed once."""
        if (intrinsic, types) not in self._calls:
            name = named(intrinsic)
            if any(name == other.text for other in self._calls.values()):
                name += f"_{wgsl(types[0])}"
            self._calls[intrinsic, types] = Value(name, "")  # taken, also while it is printed
            self._calls[intrinsic, types] = self._define(name, intrinsic, types)
        return self._calls[intrinsic, types]

    def _define(self, name: str, intrinsic: str, types: tuple[str, ...]) -> Value:
        """Print a function; its name, with the type of its result."""
        function = self._overload(intrinsic, types)
        outer, self._scopes, self._steps = (self._scopes, self._steps), self._scopes[:1], {}
        with self._scope({each.name: each.type for each in function.parameters}):
            # Parameters do not change in WGSL.
            changing = [named(each.name) for each in function.parameters if each.changes]
            lines = [f"var {each} = given_{each};" for each in changing]
            lines += self.statements(function.body)
            result = function.type or self._result(function)
        self._scopes, self._steps = outer
        parameters = ", ".join(
            f"{'given_' if each.changes else ''}{named(each.name)}: {wgsl(each.type)}"
            for each in function.parameters
        )
        head = f"fn {name}({parameters}) -> {wgsl(result)} {{"
        self.functions[name] = [head, *_indented(lines), "}"]
        return Value(name, result)

    def _result(self, function: tree.Function) -> str:
        (only,) = function.body
        assert isinstance(only, tree.Return) and only.value
        return self.expression(only.value).type

    def _overload(self, intrinsic: str, types: tuple[str, ...]) -> tree.Function:
        for each in self._intrinsics[intrinsic]:
            if isinstance(each, tree.Macro):
                (only,) = each.body
                assert isinstance(only, tree.Evaluate)
                pairs = zip(types, each.parameters, strict=True)
                parameters = tuple(tree.Declare(type, name) for type, name in pairs)
                return tree.Function("", intrinsic, parameters, (tree.Return(only.value),))
            if each.name == intrinsic and types == tuple(one.type for one in each.parameters):
                return each
        raise Unprintable(f"no {intrinsic} of {', '.join(types)} in templates/intrinsics.toml")


def _straight(condition: tree.Expression) -> tree.Expression:
    """What a choice depends on or a variable holds, without branches, which compile slowly."""
    if isinstance(condition, tree.Binary) and condition.sign in ("&&", "||"):
        left, right = _straight(condition.left), _straight(condition.right)
        return tree.Binary(condition.sign[0], left, right)
    return condition


def _replaced(statement: tree.Statement, by: Mapping[str, tree.Expression]) -> tree.Statement:
    """A statement of a macro, of its arguments."""
    if isinstance(statement, tree.Assign):
        target, value = tree.replaced(statement.target, by), tree.replaced(statement.value, by)
        return tree.Assign(target, statement.sign, value)
    assert isinstance(statement, tree.Evaluate)
    return tree.Evaluate(tree.replaced(statement.value, by))


def _step(variable: str, by: int) -> str:
    return f"{variable}{'++' if by > 0 else '--'}" if abs(by) == 1 else f"{variable} += {by}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [STEP + line for line in lines]
