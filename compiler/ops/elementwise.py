"""Elementwise operators: the record that tables of them are made of, and their own kernels.

The same expressions serve an operator that runs alone and one in another kernel's epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape, Tensor
from ..target import Target
from .base import (
    FLOATS,
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    Permutable,
    RangeOf,
    Traits,
    bhwc,
    broadcast_shapes,
    define,
    linear_grid,
    same_as_first,
    sliced_grid,
)


@dataclass(frozen=True)
class Elementwise:
    """An operator that computes each output element from the same element of each operand.

    Expressions are valid in all kernel languages, for one lane and for a slice of lanes. In them
    the operands are {a}, {b}, {c} and so on to {f}, an attribute is {its_name}, an intrinsic is
    {use.its_name}, and {to_int} and {to_float} convert the parenthesised expression that follows.
    Expressions for truth values, 0 or 1, are valid for one lane only, since slices hold only
    floats.
    """

    expression: str
    function: Callable[..., Array]
    """The same in numpy; the attributes named in the expression are passed as keywords."""
    integer: str | None = None
    """The expression for one lane of integers; None if integers are not supported."""
    dtypes: tuple[str, ...] = FLOATS
    """Types of the operands and the result."""
    switch: tuple[str, str] | None = None
    """A boolean attribute, and the expression to use where it is set."""
    versions: int = 1
    """The newest supported version."""
    cheap: bool = False
    """Whether it takes one or two instructions, less than reading its result from memory."""
    neutral: float | None = None
    """The second operand that returns the first unchanged, if there is one."""
    table: bool = False
    """Whether the second operand is a table, which every lane reads at the first operand plus the
    attribute `offset`. The expression is not used then."""

    range: RangeOf | None = None
    """The range of its results where they are whole numbers; None if nothing is known of it."""
    note: str = ""
    """Limits that the operator table shows to users."""

    def traits(self) -> Traits:
        """The traits that follow from the fields."""
        return Traits(
            identity=None if self.neutral is None else self._is_neutral,
            permutable=Permutable(images=(0,) if self.table else None, condition=_keeps_axes),
            cheap=self.cheap,
            range=self.range,
        )

    def _is_neutral(self, op: Op) -> bool:
        other = op.operand(1)
        return other.data is not None and bool((other.data == self.neutral).all())

    def chosen(self, attrs: Mapping[str, Any], integers: bool) -> str:
        """The expression for an operator with these attributes, on floats or on integers."""
        if integers:
            assert self.integer is not None
            return self.integer
        if self.switch and attrs.get(self.switch[0]):
            return self.switch[1]
        return self.expression

    def reference(self, op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
        wanted = "{offset}" if self.table else self.expression
        named = {key for key in op.attrs if f"{{{key}}}" in wanted}
        named |= {self.switch[0]} & op.attrs.keys() if self.switch else set()
        result = self.function(*arrays, **{key: op.attrs[key] for key in named})
        return [np.asarray(result).astype(op.output.dtype)]


def _keeps_axes(op: Op) -> bool:
    """Whether each operand has all axes of the output, or can be reshaped at compile time."""
    rank = len(op.output.shape)
    return all(t.elements == 1 or t.constant or len(t.shape) == rank for t in op.reads)


ELEMENTWISE: dict[str, Elementwise] = {}
"""Every elementwise operator by name."""


def read_in_store(op: Op) -> tuple[Tensor, ...]:
    """The tensors a kernel reads while it stores its result, each once.

    These are the operands of the epilogue and, for an elementwise operator, its own operands.
    """
    own = [tensor for tensor in op.inputs if tensor] if op.name in ELEMENTWISE else []
    return tuple(dict.fromkeys((*own, *op.epilogue_inputs)))


def is_literal(tensor: Tensor) -> bool:
    """Whether a tensor is a constant that is written into the source as a number."""
    return tensor.data is not None and tensor.elements == 1


def epilogue_operands(op: Op) -> int:
    """How many slices an epilogue reads for each one that it stores."""
    return sum(not is_literal(tensor) for tensor in op.epilogue_inputs)


def rank_fits(op: Op, target: Target) -> str | None:
    """Sliced storage has only a batch, a height, a width and channels."""
    ranks = [len(tensor.shape) for tensor in (*op.reads, *op.outputs)]
    return f"rank {max(ranks)} is above 4" if max(ranks) > 4 else None


def flattens(op: Op) -> bool:
    """Whether height and width can be one axis, as no operand broadcasts over just one of them."""
    _, rows, columns, _ = bhwc(op.output.shape)
    images = [bhwc(tensor.shape)[1:3] for tensor in op.reads]
    return all(image in ((rows, columns), (1, 1)) for image in images)


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    flat = flattens(op)
    return [
        Launch(
            "elementwise/elementwise.jinja",
            sliced_grid(op.output.shape, target, flat),
            {},
            {"y": op.output},
            flatten=flat,
            flops=op.output.elements,
        )
    ]


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    return [
        Launch(
            "elementwise/elementwise_linear.jinja",
            linear_grid(prod(op.output.shape)),
            {},
            {"y": op.output},
            flops=op.output.elements,
        )
    ]


IMPLEMENTATIONS = (
    Implementation("elementwise", _sliced, rank_fits),
    Implementation("elementwise_linear", _linear, reads=LINEAR, writes=LINEAR),
)


def _infer(op: Op) -> Sequence[Shape]:
    row = ELEMENTWISE[op.name]
    if row.table:
        return same_as_first(op)
    taken = sum(f"{{{letter}}}" in row.expression for letter in "abcdef")
    if len(op.inputs) != taken:
        raise ModelError(f"operator {op!r} has {len(op.inputs)} operands, but takes {taken}")
    return broadcast_shapes(op)


def define_elementwise(table: dict[str, Elementwise]) -> None:
    """Register the rows of a table of elementwise operators."""
    for name, row in table.items():
        ELEMENTWISE[name] = row
        define(
            OpDef(
                *(name, _infer, IMPLEMENTATIONS),
                *(row.reference, row.dtypes, row.note),
                versions=row.versions,
                traits=row.traits(),
            )
        )
