"""The expressions of WGSL, with the types of all values.

WGSL has no macros and no conditional operator, and its expressions change nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from ...language.expression import Expression, Name, Number, Operation, Real, Sum, Unary, Word
from ...language.language import WGSL
from ...language.notation import ATOM, SUM
from ...language.primary import Call, Choice, Element, Member, Numeral, Step
from ...language.printing import Printer
from ...language.statement import Assign, Evaluate
from ..functions.definitions import Macro, definition
from .builtins import ATOMICS, VARIABLES, Unprintable, builtin, named
from .types import known, scalar, vector
from .values import Value, binary, called, chosen, common, constructed, numeral, unary


@dataclass
class Variable:
    type: str  # As GLSL has it.
    lines: list[str] = field(default_factory=list)  # Those of its declaration.
    changes: bool = False  # Whether a statement after its declaration changes it.
    named: bool = False  # Whether a statement names it.


class ExpressionPrinter(Printer[Variable]):
    """Prints the expressions in the body of a kernel or of a function."""

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
        super().__init__({name: Variable(type) for name, type in declared.items()})
        self._function, self._atomic, self._given = function, atomic, given
        # By how much the statement that is printed changes variables within expressions.
        self.steps: dict[str, int] = {}
        self.returned = ""  # The type of what was returned last.
        # The arrays of which elements were seen to change atomically.
        self.atomic: set[str] = set()
        self.sizes: list[int] = []  # The numbers that integers are computed with.

    @property
    def unnamed(self) -> list[str]:
        """What was declared, but no statement names."""
        return [name for name, found in self._scopes[0].items() if not found.named]

    @property
    def changed(self) -> list[str]:
        """What was declared, and statements change."""
        return [name for name, found in self._scopes[0].items() if found.changes]

    def expression(self, node: Expression) -> Value:
        """An expression that is read."""
        if isinstance(node, Name):
            return self._name(node.text)
        if isinstance(node, Number | Word | Real | Numeral):
            return numeral(node)
        if isinstance(node, Sum):
            return self.expression(node.written)
        if isinstance(node, Operation):
            sign, *sides = node.parts
            return binary(sign, *self.with_sizes(sides))
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Element):
            place = self.place(node)
            atomic = self.is_atomic(node)
            return Value(f"atomicLoad(&{place.text})", place.type) if atomic else place
        if isinstance(node, Member):
            return self.place(node)
        if isinstance(node, Unary):
            sign, operand = node.parts
            return unary(sign, self.expression(operand))
        if isinstance(node, Choice):
            return self._choice(node)
        assert isinstance(node, Step)
        return self._stepped(node)

    def with_sizes(self, nodes: Sequence[Expression], type: str = "") -> list[Value]:
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

    def place(self, node: Expression) -> Value:
        """A variable, or an element or lanes of one."""
        if isinstance(node, Element):
            array, index = self.place(node.parts[0]), self.expression(node.parts[1])
            type = array.type
            element = type.removesuffix("[]") if type.endswith("[]") else scalar(type)
            return Value(f"{array.within(ATOM)}[{index.text}]", element)
        if isinstance(node, Member):
            value, lanes = self.place(node.parts[0]), node.parts[1]
            type = vector(scalar(value.type), len(lanes))
            return Value(f"{value.within(ATOM)}.{lanes}", type)
        return self.expression(node)

    def is_atomic(self, node: Expression) -> bool:
        return isinstance(node, Element) and node.parts[0].text in self._atomic

    def _found(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _name(self, name: str) -> Value:
        found = self._found(name)
        if found:
            found.named = True
            by, text = self.steps.get(name, 0), named(name)
            if not by:
                return Value(text, found.type)
            return Value(f"{text} {'+' if by > 0 else '-'} {abs(by)}", found.type, SUM)
        if definition(name, WGSL):
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
        self.change(variable)
        self.steps[name] = self.steps.get(name, 0) + by
        return self._name(name) if first else before

    def _choice(self, node: Choice) -> Value:
        condition, one, other = node.parts
        depends, before = self.expression(straight(condition)), dict(self.steps)
        first, second = self.with_sizes([one, other])
        if self.steps != before:
            raise Unprintable(f"what {depends.text} chooses changes a variable, in any case")
        return chosen(depends, first, second)

    def _call(self, node: Call) -> Value:
        function, *given = node.parts
        if function in ATOMICS:
            place, value = given
            self.atomic.add(place.parts[0].text)
            target = self.place(place)
            pointer = target._replace(text=f"&{target.text}")
            return called(function, (pointer, self.expression(value)), "void")
        expanded = self.expanded(node)
        if expanded:
            (only,) = expanded
            return self.expression(only.value)
        if known(function):
            return constructed(function, [self.expression(each) for each in given])
        arguments = self.with_sizes(given)
        if definition(function, WGSL):
            made = self._function(function, tuple([each.type for each in arguments]))
            return called(made.text, arguments, made.type)
        return builtin(function, arguments)

    def expanded(self, node: Call) -> Sequence[Assign | Evaluate]:
        """What a macro stands for, if it takes an array, or is no longer than its call."""
        function, *arguments = node.parts
        macro = definition(function, WGSL)
        if not isinstance(macro, Macro):
            return ()
        value = isinstance(macro.body[0], Evaluate) and len(macro.body) == 1
        short = max(macro.uses, default=0) <= 1 and not macro.entry.function
        if value and not short and not any(map(self._is_array, arguments)):
            return ()
        for uses, argument in zip(macro.uses, arguments, strict=True):
            if uses > 1 and any(isinstance(each, Step) for each in within(argument)):
                raise Unprintable(f"{function} takes a variable that changes several times")
        return macro.called(*arguments)

    def _is_array(self, node: Expression) -> bool:
        return isinstance(node, Name) and self._name(node.text).type.endswith("[]")

    def change(self, target: Expression) -> None:
        """Tell that the variable changes of which `target` is a part."""
        while isinstance(target, Element | Member):
            target = target.parts[0]
        found = self._found(target.text)
        if found and not found.changes:
            found.changes = True
            found.lines[:] = map(changing, found.lines)


def within(node: Expression) -> Iterator[Expression]:
    """An expression and everything in it."""
    yield node
    for part in node.operands:
        yield from within(part)


def straight(condition: Expression) -> Expression:
    """What a choice depends on or a variable holds, without branches, which compile slowly."""
    if isinstance(condition, Operation) and condition.parts[0] in ("&&", "||"):
        sign, left, right = condition.parts
        return Operation(sign[0], straight(left), straight(right))
    return condition


def changing(declaration: str) -> str:
    """The declaration of a variable that changes."""
    return f"var {declaration.removeprefix('let ')}" if declaration[:4] == "let " else declaration
