"""The printer of WGSL: from statements to lines, with the types of all values.

WGSL has no macros and no conditional operator, and its expressions change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from ...language import (
    WGSL,
    Call,
    Choice,
    Element,
    Expression,
    Member,
    Name,
    Number,
    Numeral,
    Operation,
    Real,
    Step,
    Unary,
)
from ...language.expression import Sum
from ...language.notation import ATOM, SUM
from ...language.printing import Printer, indented
from ...language.statement import Assign, Declare, Evaluate, If, Return, Simple, Statement
from ...language.wrapping import wrapped
from .builtins import ATOMICS, VARIABLES, Unprintable, builtin
from .definitions import Macro, within
from .parse import definitions_of
from .types import known, scalar, vector, wgsl
from .values import (
    Value,
    binary,
    called,
    chosen,
    common,
    constructed,
    filled,
    numeral,
    shift,
    unary,
)
from .words import named

LANES = 4


@dataclass
class _Variable:
    type: str
    """As GLSL has it."""
    lines: list[str] = field(default_factory=list)
    """Those of its declaration."""
    changes: bool = False
    """Whether a statement after its declaration changes it."""
    named: bool = False
    """Whether a statement names it."""


class WGSLPrinter(Printer[_Variable]):
    """Prints the body of a kernel or of a function."""

    def __init__(
        self,
        declared: Mapping[str, str],
        function: Callable[[str, tuple[str, ...]], Value],
        atomic: Set[str] = frozenset(),
        given: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """`declared` has the types of the kernel's arrays or of the function's parameters.

        `function` gives the name and the result of an intrinsic for types of arguments. `atomic`
        names the arrays of which elements are changed atomically, `given` the variables for some of
        the sizes, by their places in the order in which they are printed.
        """
        super().__init__({name: _Variable(type) for name, type in declared.items()})
        self._function, self._atomic, self._given = function, atomic, given
        self._steps: dict[str, int] = {}
        """By how much the statement that is printed changes variables within expressions."""
        self.returned = ""
        """The type of what was returned last."""
        self.atomic: set[str] = set()
        """The arrays of which elements were seen to change atomically."""
        self.sizes: list[int] = []
        """The numbers that integers are computed with."""

    @property
    def unnamed(self) -> list[str]:
        """What was declared, but no statement names."""
        return [name for name, found in self._scopes[0].items() if not found.named]

    @property
    def changed(self) -> list[str]:
        """What was declared, and statements change."""
        return [name for name, found in self._scopes[0].items() if found.changes]

    # -- statements ---------------------------------------------------------------------------

    def _statement(self, item: Statement) -> list[str]:
        if isinstance(item, Evaluate) and isinstance(item.value, Call):
            expanded = self._expanded(item.value)
            if expanded:
                return [line for each in expanded for line in self._statement(each)]
        lines = super()._statement(item)
        if isinstance(item, Declare):
            self._scopes[-1][item.name].lines = lines
        return lines

    def _simple(self, item: Simple) -> list[str]:
        """The statement, and then the steps of variables in it."""
        text = self._without_steps(item)
        steps = [_step(named(name), by) for name, by in self._steps.items()]
        self._steps = {}
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
            (value,) = self._with_sizes([_straight(declared.value)])
            text = f"let {name} = {value.text}"
        self._scopes[-1][declared.name] = _Variable(type)
        return text

    def _assignment(self, statement: Assign) -> str:
        target = self._place(statement.target)
        (value,) = self._with_sizes([statement.value], target.type)
        self._change(statement.target)
        if statement.sign in ("<<=", ">>="):
            value = shift(value, target.type)
        elif statement.sign in ("&=", "|=", "^="):
            value = filled(value, target.type)
        if self._is_atomic(statement.target):
            return f"atomicStore(&{target.text}, {value.text})"
        return f"{target.text} {statement.sign} {value.text}"

    def _change(self, target: Expression) -> None:
        """Tell that the variable changes of which `target` is a part."""
        while isinstance(target, Element | Member):
            target = target.parts[0]
        found = self._found(target.text)
        if found and not found.changes:
            found.changes = True
            found.lines[:1] = map(_changing, found.lines[:1])

    def _start(self, declared: Declare) -> str:
        return _changing(self._declaration(declared))

    def _head(self, word: str, condition: str) -> str:
        return f"{word} {condition}"

    def _if(self, item: If) -> list[str]:
        head = self._head("if", self._condition(item.condition))
        lines = self._headed(head, self.lines(item.then), alone=not item.other.items)
        other = item.other.items
        if not other:
            return lines
        others = self.lines(item.other)
        if len(other) == 1 and isinstance(other[0], If):
            return [*lines[:-1], f"}} else {others[0]}", *others[1:]]
        return [*lines[:-1], *self._headed("} else", others, alone=False)]

    def _headed(self, head: str, inner: Sequence[str], alone: bool = True) -> list[str]:
        """A body in braces, on one line if it is short and nothing follows."""
        if alone and len(inner) == 1 and inner[0].endswith(";"):
            line = f"{head} {{ {inner[0]} }}"
            if len(line) <= self._width:
                return [line]
        return [*wrapped(f"{head} {{", self._width), *indented(inner), "}"]

    def _condition(self, condition: Expression) -> str:
        text = self.expression(condition).text
        if self._steps:
            raise Unprintable(f"the condition {text} changes a variable, which WGSL cannot")
        return text

    # -- expressions --------------------------------------------------------------------------

    def expression(self, node: Expression) -> Value:
        """An expression that is read."""
        if isinstance(node, Name):
            return self._name(node.text)
        if isinstance(node, Number | Real | Numeral):
            return numeral(node)
        if isinstance(node, Sum):
            return self.expression(node.written)
        if isinstance(node, Operation):
            sign, *sides = node.parts
            return binary(sign, *self._with_sizes(sides))
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Element):
            place = self._place(node)
            atomic = self._is_atomic(node)
            return Value(f"atomicLoad(&{place.text})", place.type) if atomic else place
        if isinstance(node, Member):
            return self._place(node)
        if isinstance(node, Unary):
            sign, operand = node.parts
            return unary(sign, self.expression(operand))
        if isinstance(node, Choice):
            return self._choice(node)
        assert isinstance(node, Step)
        return self._stepped(node)

    def _with_sizes(self, nodes: Sequence[Expression], type: str = "") -> list[Value]:
        """Expressions that are read; numbers among them are sizes, if they are beside integers."""
        values = [self.expression(node) for node in nodes]
        if (type or common(values)) != "int":
            return values
        pairs = zip(nodes, values, strict=True)
        return [self._size(node) if isinstance(node, Number) else each for node, each in pairs]

    def _size(self, number: Number) -> Value:
        variable = self._given.get(len(self.sizes))
        self.sizes.append(number.parts[0])
        return self._name(variable) if variable else numeral(number)

    def _place(self, node: Expression) -> Value:
        """A variable, or an element or lanes of one."""
        if isinstance(node, Element):
            array, index = self._place(node.parts[0]), self.expression(node.parts[1])
            type = array.type
            element = type.removesuffix("[]") if type.endswith("[]") else scalar(type)
            return Value(f"{array.within(ATOM)}[{index.text}]", element)
        if isinstance(node, Member):
            value, lanes = self._place(node.parts[0]), node.parts[1]
            type = vector(scalar(value.type), len(lanes))
            return Value(f"{value.within(ATOM)}.{lanes}", type)
        return self.expression(node)

    def _is_atomic(self, node: Expression) -> bool:
        return isinstance(node, Element) and node.parts[0].text in self._atomic

    def _found(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _name(self, name: str) -> Value:
        found = self._found(name)
        if found:
            found.named = True
            by, text = self._steps.get(name, 0), named(name)
            if not by:
                return Value(text, found.type)
            return Value(f"{text} {'+' if by > 0 else '-'} {abs(by)}", found.type, SUM)
        if definitions_of(name):
            return self._call(Call(name))
        if name not in VARIABLES:
            raise Unprintable(f"no variable {name}")
        return VARIABLES[name]

    def _stepped(self, node: Step) -> Value:
        """The value of a variable that the statement changes; the change follows the statement."""
        variable, by, first = node.parts
        if not isinstance(variable, Name):
            raise Unprintable("within expressions, only variables can be changed")
        name = variable.text
        before = self._name(name)
        self._change(variable)
        self._steps[name] = self._steps.get(name, 0) + by
        return self._name(name) if first else before

    def _choice(self, node: Choice) -> Value:
        condition, one, other = node.parts
        depends, before = self.expression(_straight(condition)), dict(self._steps)
        first, second = self._with_sizes([one, other])
        if self._steps != before:
            raise Unprintable(f"what {depends.text} chooses changes a variable, in any case")
        return chosen(depends, first, second)

    # -- calls --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Value:
        function, *given = node.parts
        if function in ATOMICS:
            place, value = given
            self.atomic.add(place.parts[0].text)
            target = self._place(place)
            pointer = target._replace(text=f"&{target.text}")
            return called(function, (pointer, self.expression(value)), "void")
        expanded = self._expanded(node)
        if expanded:
            (only,) = expanded
            return self.expression(only.value)
        if known(function):
            return constructed(function, [self.expression(each) for each in given])
        arguments = self._with_sizes(given)
        if definitions_of(function):
            made = self._function(function, tuple([each.type for each in arguments]))
            return called(made.text, arguments, made.type)
        return builtin(function, arguments)

    def _expanded(self, node: Call) -> Sequence[Assign | Evaluate]:
        """What a macro stands for, if it takes an array, or is no longer than its call."""
        function, *arguments = node.parts
        macro = next(reversed(definitions_of(function)), None)
        if not isinstance(macro, Macro):
            return ()
        value = isinstance(macro.body[0], Evaluate) and len(macro.body) == 1
        short = max(macro.uses.values(), default=0) <= 1
        if value and not short and not any(map(self._is_array, arguments)):
            return ()
        for name, argument in zip(macro.parameters, arguments, strict=True):
            if macro.uses[name] > 1 and any(isinstance(each, Step) for each in within(argument)):
                raise Unprintable(f"{function} takes a variable that changes several times")
        return macro.called(*arguments)

    def _is_array(self, node: Expression) -> bool:
        return isinstance(node, Name) and self._name(node.text).type.endswith("[]")


def _straight(condition: Expression) -> Expression:
    """What a choice depends on or a variable holds, without branches, which compile slowly."""
    if isinstance(condition, Operation) and condition.parts[0] in ("&&", "||"):
        sign, left, right = condition.parts
        return Operation(sign[0], _straight(left), _straight(right))
    return condition


def _changing(declaration: str) -> str:
    """The declaration of a variable that changes."""
    return f"var {declaration.removeprefix('let ')}" if declaration[:4] == "let " else declaration


def _step(variable: str, by: int) -> str:
    return f"{variable}{'++' if by > 0 else '--'}" if abs(by) == 1 else f"{variable} += {by}"
