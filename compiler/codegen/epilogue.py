"""The epilogue: elementwise operators as kernel text, between a computed value and its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..ir import Op, Tensor
from ..language import Language, affine
from ..ops.base import kernel_dtype
from ..ops.elementwise import ELEMENTWISE
from .intrinsics import Use
from .literal import literal


class Operands(Protocol):
    """Returns expressions that read the operands which the kernel does not compute."""

    def read(self, tensor: Tensor) -> str:
        """The tensor at the position of the store."""

    def entry(self, tensor: Tensor, index: str) -> str:
        """The entry of a table at that index."""


@dataclass(frozen=True)
class Expressions:
    """Renders the expressions of elementwise operators in a kernel language."""

    language: Language
    use: Use
    lanes: int
    """Lanes of a slice; 0 for single values."""

    def of(self, expression: str, **operands: str) -> str:
        """An expression with operands and attributes in their places."""
        casts = self.language.casts(self.lanes)
        return expression.format(
            use=self.use, to_int=casts["int"], to_float=casts["float"], **operands
        )

    def literals(self, attrs: Mapping[str, Any]) -> dict[str, str]:
        """Attributes that are numbers: whole ones as integers."""
        return {
            key: literal(value, self.use, "int32" if isinstance(value, int) else "float32")
            for key, value in attrs.items()
            if isinstance(value, (int, float))
        }


class Chain:
    """Statements that compute elementwise operators one after another, each result in `v`."""

    def __init__(self, kind: str, expressions: Expressions) -> None:
        self._kind, self._expressions = kind, expressions
        self._last: Tensor | None = None
        """The tensor whose value is in `v`."""
        self._held: dict[Tensor, str] = {}
        """The variables of values that later operators also read."""
        self.lines: list[str] = []

    def start(self, tensor: Tensor, value: str) -> None:
        """Start with a value that the kernel has computed."""
        self._assign(tensor, value)

    def compute(self, ops: Sequence[Op], operands: Operands, stores: Mapping[Tensor, str]) -> None:
        """Go on with operators; what else they read is read where they are computed.

        `read` reads the operands that the chain does not compute; `stores` has the statement that
        stores each early output.
        """
        for number, op in enumerate(ops):
            if self._last is not None:
                self._keep(self._last, number, ops[number + 1 :], stores)
            if ELEMENTWISE[op.name].table:
                self._look_up(op, self._text(op.operand(0), operands), operands, number)
            else:
                inputs = (tensor for tensor in op.inputs if tensor is not None)
                self._compute(op, [self._text(tensor, operands) for tensor in inputs], number)

    def _text(self, tensor: Tensor, operands: Operands) -> str:
        if tensor is self._last:
            return "v"
        return self._held[tensor] if tensor in self._held else operands.read(tensor)

    def _keep(
        self, value: Tensor, number: int, later: Sequence[Op], stores: Mapping[Tensor, str]
    ) -> None:
        """Store the last value if it is an early output; copy it if a later operator reads it."""
        if value in stores:
            self.lines.append(stores[value])
        if any(value in op.inputs for op in later):
            self._held[value] = f"v{number}"
            self.lines.append(f"{self._kind} v{number} = v;")

    def _compute(self, op: Op, operands: Sequence[str], number: int) -> None:
        """Append one operator; an operand that its expression repeats gets a variable."""
        integers = kernel_dtype(op.operand(len(op.inputs) - 1).dtype) == "int32"
        expression = ELEMENTWISE[op.name].chosen(op.attrs, integers)
        named = {}
        for name, operand in zip("abcdef", operands, strict=False):
            named[name] = operand
            if expression.count(f"{{{name}}}") > 1 and not operand.isidentifier():
                named[name] = f"{name}{number}"
                kind = "int" if integers else self._kind
                self.lines.append(f"{kind} {named[name]} = {operand};")
        literals = self._expressions.literals(op.attrs)
        text = self._expressions.of(expression, **named, **literals)
        self._assign(op.output, text, f"  // {op.name}")

    def _look_up(self, op: Op, value: str, operands: Operands, number: int) -> None:
        """Each lane reads its own entry of the table."""
        language, lanes = self._expressions.language, self._expressions.lanes
        place, offset = f"place{number}", op.attrs["offset"]
        kind = language.ints(lanes) if lanes else "int"
        index = affine(f"{language.casts(lanes)['int']}({value})", 1, offset)
        self.lines.append(f"{kind} {place} = {index};")
        places = [language.lane(place, lane, lanes) for lane in range(lanes)] or [place]
        entries = [operands.entry(op.operand(1), text) for text in places]
        text = language.convert(self._kind, ", ".join(entries)) if lanes else entries[0]
        self._assign(op.output, text, f"  // {op.name}")

    def _assign(self, tensor: Tensor, value: str, remark: str = "") -> None:
        declaration = "" if self._last is not None else f"{self._kind} "
        self.lines.append(f"{declaration}v = {value};{remark}")
        self._last = tensor
