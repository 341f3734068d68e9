"""The epilogue: elementwise operators between a computed value and its store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ...ir import Op, Tensor
from ...language.expression import Expression, Name
from ...language.primary import Call, Element, Member
from ...language.statement import Declare, Statement, Statements, assignment
from ...language.types import INT, INTS
from ...ops.base.storage import kernel_dtype
from ...ops.elementwise.elementwise import ELEMENTWISE, computes_integers
from ..functions.kernel_functions import KernelFunctions

RESULT = "v"  # The variable of the results.
Store = Callable[[Expression], Statements]  # Returns the statements that store a variable.


class Operands(Protocol):
    """Returns expressions that read the operands which the kernel does not compute."""

    def read(self, tensor: Tensor) -> Expression:
        """The tensor at the position of the store."""

    def entry(self, tensor: Tensor, index: Expression) -> Expression:
        """The entry of a table whose number is a variable, in each lane its own."""


class Chain:
    """Statements that compute elementwise operators one after another, each result in `v`.

    One that a further operator reads, too, has a variable of its own.
    """

    def __init__(self, kind: str, functions: KernelFunctions) -> None:
        self._kind, self._functions = kind, functions
        self._result = Name(RESULT, kind)
        self._declares = True  # Whether the next value of `v` is the first one.
        self._last: Tensor | None = None  # The tensor whose value was computed last.
        # The variable that holds it: `v`, or the one that the chain started with.
        self.value: Expression | None = None
        # The variables of values that later operators also read.
        self._held: dict[Tensor, Expression] = {}
        self.statements: list[Statement] = []

    def start(self, tensor: Tensor, value: Expression, typed: bool = False) -> None:
        """Start with a value that the kernel has computed; `typed` if it has the type that the
        chain computes in, so that it may do without a variable. One that was an integer is left
        to the first operator.
        """
        if value.whole is not None or (typed and _is_read(value)):
            self._last, self.value = tensor, value
            self._declares = value != self._result
        else:
            self._assign(tensor, value)

    def variable(self) -> Expression:
        """The last value, in a variable."""
        assert self._last is not None and self.value is not None
        if not isinstance(self.value, Name):
            self._assign(self._last, self.value)
        return self.value

    def hold(self, values: Iterable[tuple[Tensor, Expression]]) -> None:
        """Further values that the kernel has computed."""
        for number, (tensor, value) in enumerate(values):
            self._held[tensor] = self._declared(f"beside{number}", self._kind, value)

    def _declared(self, name: str, kind: str, value: Expression, remark: str = "") -> Expression:
        self.statements.append(Declare(kind, name, value=value, remark=remark))
        return Name(name, kind)

    def compute(
        self, ops: Sequence[Op], operands: Operands, stores: Mapping[Tensor, Store]
    ) -> None:
        """Go on with operators; what else they read is read where they are computed.

        `read` reads the operands that the chain does not compute; `stores` has what stores each
        early output.
        """
        for number, op in enumerate(ops):
            if self._last is not None:
                self._keep(self._last, number, ops[number + 1 :], stores)
            if ELEMENTWISE[op.name].table:
                value = self._look_up(op, self._operand(op.operand(0), operands), operands, number)
            else:
                inputs = (tensor for tensor in op.inputs if tensor is not None)
                value = self._computed(
                    op, [self._operand(tensor, operands) for tensor in inputs], number
                )
            held = any(op.output in each.inputs for each in ops[number + 2 :])
            self._assign(op.output, value, f"  // {op.name}", f"v{number + 1}" if held else RESULT)

    def _operand(self, tensor: Tensor, operands: Operands) -> Expression:
        if tensor is self._last and self.value is not None:
            return self.value
        return self._held[tensor] if tensor in self._held else operands.read(tensor)

    def _keep(
        self, value: Tensor, number: int, later: Sequence[Op], stores: Mapping[Tensor, Store]
    ) -> None:
        """Store the last value if it is an early output; copy it if a later operator reads it."""
        if value in stores:
            self.statements += stores[value](self.variable()).items
        if any(value in op.inputs for op in later):
            held = self.variable()
            if held == self._result:
                held = self._declared(f"v{number}", self._kind, held)
            self._held[value] = held

    def _computed(self, op: Op, operands: Sequence[Expression], number: int) -> Expression:
        """The value of one operator; an operand that its formula repeats gets a variable."""
        integers, row = computes_integers(op), ELEMENTWISE[op.name]
        attrs = row.attributes_of(op)
        dtypes = [kernel_dtype(tensor.dtype) for tensor in op.inputs if tensor is not None]

        def result(values: Sequence[Expression]) -> Expression:
            return self._functions.value(row.chosen(integers), *values, **attrs)

        letters = "abcdef"[: len(operands)]
        variables = [*map(self._functions.variable, letters, dtypes)]
        formula = result(variables)
        last, named = self.value, []
        for letter, variable, operand in zip(letters, variables, operands, strict=True):
            repeated = formula.count(variable) > 1
            if operand is last and (repeated or operands.count(last) > 1):
                operand = self.variable()
            elif repeated and not isinstance(operand, Name):
                kind = INT if integers else self._kind
                operand = self._declared(f"{letter}{number}", kind, operand)
            named.append(operand)
        return result(named)

    def _look_up(self, op: Op, value: Expression, operands: Operands, number: int) -> Expression:
        """Each lane reads its own entry of the table."""
        kind = INTS if self._functions.lanes else INT
        index = self._functions.to_int(value) + op.attrs["offset"]
        place = self._declared(f"place{number}", kind, index)
        return operands.entry(op.operand(1), place)

    def _assign(
        self, tensor: Tensor, value: Expression, remark: str = "", name: str = RESULT
    ) -> None:
        self._last, self.value = tensor, self._result
        if name != RESULT:
            self.value = self._declared(name, self._kind, value, remark)
        elif self._declares:
            self._declares = False
            self._declared(RESULT, self._kind, value, remark)
        else:
            self.statements.append(assignment(self._result, value, remark))


def _is_read(value: Expression) -> bool:
    """Whether it is a variable, a part of one, or a conversion, which operators can read."""
    if isinstance(value, Call | Member):
        return len(value.operands) == 1 and _is_read(value.operands[0])
    return isinstance(value, Name) or (
        isinstance(value, Element) and isinstance(value.parts[0], Name)
    )
