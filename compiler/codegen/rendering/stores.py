"""The stores that templates ask for, which run the operator's epilogue on what they store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...accessors import Position
from ...ir import Op, Tensor
from ...language.expression import Expression, Name, Operand, expression
from ...language.primary import Element
from ...language.statement import Assign, Copy, Declare, Statements, body
from ...language.types import FLOATS
from ...ops.base.storage import kernel_dtype
from ..binding import Binding
from ..functions.kernel_functions import KernelFunctions, literal
from .epilogue import RESULT, Chain


class Stores:
    """Of the output of one launch."""

    def __init__(self, op: Op, binding: Binding) -> None:
        self._op, self._binding = op, binding
        self._target = binding.target
        role, self._written = next(iter(binding.launch.writes.items()))
        self._output = binding.roles[role]
        self._functions = binding.functions(binding.sliced)

    @property
    def uniform(self) -> bool:
        """Whether the epilogue does not depend on the position in the output."""
        numbers = all(tensor.number is not None for tensor in self._op.epilogue_inputs)
        return numbers and not self._op.early_outputs

    def apply(self, ops: Sequence[Op], value: Operand) -> Statements:
        """The statements that apply elementwise operators to a value and leave the result in `v`.

        The operators may otherwise read only scalar constants.
        """
        chain = Chain(FLOATS, self._functions)
        computed = [tensor for op in ops[:1] for tensor in op.reads if not tensor.constant]
        chain.start(computed[0] if computed else self._op.output, expression(value))
        operands = _OperandsAt(self._binding, self._written, self._functions, Position())
        chain.compute(ops, operands, {})
        return body(*chain.statements)

    def write(self, value: Operand, *place: Operand) -> Statements:
        """The statements that store a slice at its place, without the epilogue."""
        return self._output.write(Position(*place), expression(value))

    def store(
        self, value: Operand | None, *place: Operand, beside: Sequence[Operand] = ()
    ) -> Statements:
        """The statements that run the epilogue on a slice and store it.

        With `value` None the slice is computed by the operator itself, which is elementwise.
        `beside` are further results of its core, which the epilogue reads.
        """
        return self._stored(value, FLOATS, Position(*place), beside=beside)

    def store_joined(self, values: Sequence[Operand], *place: Operand) -> Statements:
        """The statements for slices of neighbouring pixels, as many as are stored at once."""
        output, result = self._output, Name(RESULT, FLOATS)
        assert output.join
        joined = Declare(self._target.language.element(output.stored, output.lanes), "joined")
        parts, first = [], Position(*place)
        for number, value in enumerate(values):
            at = replace(first, column=first.column + number)
            part = output.join.part(output.memory, number, output.keep_tail(at, result))
            parts.append(Copy(self._stored(value, FLOATS, at, body(part)), repeated=True))
        index = output.index_of(first) >> output.together.bit_length() - 1
        whole = Assign(Element(Name(output.array), index), "=", Name("joined"))
        return body(joined, *parts, whole)

    def store_at(
        self, value: Operand | None, index: Operand, within: tuple[Operand, Operand] | None = None
    ) -> Statements:
        """The statements that run the epilogue on an element and store it at a flat index.

        `within` is the number of its row, and the place in it.
        """
        return self._stored(value, self._output.element, Position(index=index, within=within))

    def store_slice_at(
        self,
        value: Operand | None,
        index: Operand,
        within: tuple[Operand, Operand] | None = None,
        last: int = 0,
        first: int = 0,
    ) -> Statements:
        """The statements for a slice of elements of a row, stored from a flat index on.

        With `last` only so many are stored: those before have been, by whoever shares the row. With
        `first` only so many are there.
        """
        lanes = self._target.lanes
        some = range(first) if first else range(lanes - last, lanes) if last else range(0)
        place = Position(index=index, lanes=lanes, some=some, within=within)
        return self._stored(value, FLOATS, place)

    def _stored(
        self,
        value: Operand | None,
        kind: str,
        position: Position,
        kept: Statements | None = None,
        beside: Sequence[Operand] = (),
    ) -> Statements:
        """The statements of a store; `kept` is the last one, if it is not a plain write."""
        op, half = self._op, self._binding.half
        stores = {
            tensor: partial(found.write, position) for tensor, found in self._binding.early.items()
        }
        ops = op.epilogue if self._binding.implementation.fuses else ()
        functions = self._binding.functions(True) if position.lanes else self._functions
        chain = Chain(kind, functions)
        if value is not None and half:
            language, lanes = self._target.language, self._target.lanes
            given = (language.widen(expression(each), lanes) for each in (value, *beside))
            value, *beside = given
        if value is None:
            ops = (*op.core, *ops)
        elif not (ops or self._output.repeats or kept or position.some):
            return self._output.write(position, expression(value))
        else:
            results, known = op.core[-1].outputs, expression(value)
            chain.start(results[0], known, self._has_type(known, kind) and kept is None)
            chain.hold(zip(results[1:], map(expression, beside), strict=False))
        operands = _OperandsAt(self._binding, self._written, functions, position)
        chain.compute(ops, operands, stores)
        result = chain.variable()
        last = kept or self._output.write(position, result)
        return body(*chain.statements, *last.items)

    def _has_type(self, value: Expression, kind: str) -> bool:
        language, lanes = self._target.language, self._target.lanes
        return language.name_of(value.type, lanes) == language.name_of(kind, lanes)


@dataclass(frozen=True)
class _OperandsAt:
    """How operands of elementwise operators are read at a position of the output."""

    binding: Binding
    output: Tensor
    functions: KernelFunctions
    position: Position

    def read(self, tensor: Tensor) -> Expression:
        if tensor.number is not None:
            return self._literal(tensor)
        return self.binding.operands[tensor].broadcast(self.position, self.output.shape)

    def entry(self, tensor: Tensor, index: Expression) -> Expression:
        found = self.binding.operands[tensor]
        return found.entries(index) if self.functions.lanes else found.entry(index)

    def _literal(self, tensor: Tensor) -> Expression:
        lanes = self.functions.lanes
        number = literal(tensor.number, self.functions.use, kernel_dtype(tensor.dtype))
        return self.functions.language.made(FLOATS, lanes, number) if lanes else number
