"""Elementwise operators: the record that tables of them are made of, and their own kernels.

The same formulas serve an operator that runs alone and one in another kernel's epilogue.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import Parameter, signature
from math import prod
from typing import Any

import numpy as np

from ...errors import ModelError
from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from ...tflite_schema import OWN_PREFIX
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens, rank_fits
from ..base.launch import Launch, linear_grid, sliced_grid
from ..base.row_slices import no_long_rows, no_row_slices
from ..base.shapes import broadcast_shapes, same_as_first
from ..base.storage import FLOATS, kernel_dtype, slice_count
from ..base.traits import Permutable, RangeOf, Traits
from . import numpy_functions

# Computes an operator from the functions it may call, its operands, and attributes as keywords. The
# functions are those of `numpy_functions`, which are of arrays, or of `KernelFunctions` in codegen,
# which are of expressions; arithmetic and comparisons are Python's operators.
Formula = Callable[..., Any]


@dataclass(frozen=True)
class Elementwise:
    """An operator that computes each output element from the same element of each operand.

    Its formula holds in all kernel languages and in numpy, for one lane and for a slice of lanes:
    `lambda f, a, *, alpha: f.if_negative(a, alpha * a)`. Those for truth values, 0 or 1, hold for
    one lane only, since slices hold only floats.
    """

    formula: Formula
    integer: Formula | None = None  # The formula for one lane of integers, if it is another.
    # The operator in numpy, of operands and attributes, where the formula is less exact.
    function: Callable[..., Array] | None = None
    dtypes: tuple[str, ...] = FLOATS
    versions: int = 1
    # Whether it takes one or two instructions, less than reading its result from memory.
    cheap: bool = False
    # The second operand that returns the first unchanged, if there is one.
    neutral: float | None = None
    # Whether the formula is of integers, which the operands hold as floats; it gives an integer,
    # which is limited to the attributes `low` and `high`.
    whole: bool = False
    # Whether the second operand is a table, of which every lane reads an entry of its own.
    table: bool = False
    # The range of its results where they are whole numbers; None if nothing is known of it.
    range: RangeOf | None = None
    note: str = ""  # Limits that the operator table shows to users.
    declared: str = ""  # Its operands and its result, if they are not of one type.

    @cached_property
    def operands(self) -> int:
        kinds = [item.kind for item in signature(self.formula).parameters.values()]
        return kinds.count(Parameter.POSITIONAL_OR_KEYWORD) - 1

    def signature(self, name: str) -> str:
        kind = "bool" if self.dtypes == ("bool",) else "T"
        operands = f"x:{kind}" if self.operands == 1 else f"a:{kind} b:{kind}"
        return f"{name} {self.declared or f'{operands} -> y:{kind}'}"

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        parameters = signature(self.formula).parameters.values()
        own = tuple(item.name for item in parameters if item.kind == Parameter.KEYWORD_ONLY)
        return (*own, "low", "high") if self.whole else own

    def attributes_of(self, op: Op) -> dict[str, Any]:
        """The attributes that the formula takes, by name."""
        return {name: op.attrs[name] for name in self.attributes if name in op.attrs}

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

    def chosen(self, integers: bool) -> Formula:
        """The formula for integers or for floats."""
        if self.whole:
            return partial(_limited, self.formula)
        return self.integer or self.formula if integers else self.formula

    def reference(self, op: Op, *arrays: Array) -> Array:
        attrs = self.attributes_of(op)
        if self.function is not None:
            result = self.function(*arrays, **attrs)
        else:
            formula = self.chosen(computes_integers(op))
            # Integers of any width are computed in more bits than they have, and wrap in the end.
            widened = [a.astype(np.int64) if a.dtype.kind in "iub" else a for a in arrays]
            result = formula(numpy_functions, *widened, **attrs)
        return np.asarray(result).astype(op.output.dtype)


def _limited(formula: Formula, f: Any, *operands: Any, low: Any, high: Any, **numbers: Any) -> Any:
    return f.to_float(f.clamp(formula(f, *map(f.to_int, operands), **numbers), low, high))


def computes_integers(op: Op) -> bool:
    """Whether an elementwise operator computes integers; a SELECT's condition does not count."""
    return kernel_dtype(op.operand(len(op.inputs) - 1).dtype) == "int32"


def _keeps_axes(op: Op) -> bool:
    """Whether each operand has all axes of the output, or can be reshaped at compile time."""
    rank = len(op.output.shape)
    return all(t.elements == 1 or t.constant or len(t.shape) == rank for t in op.reads)


ELEMENTWISE: dict[str, Elementwise] = {}

# The elements of a row from which on one loop over it pays, though it is less than a slice.
SHORTEST = 6


def read_in_store(op: Op) -> tuple[Tensor, ...]:
    """The tensors read in a store, each once: the epilogue's, and those of an elementwise core."""
    own = [tensor for tensor in op.inputs if tensor] if op.name in ELEMENTWISE else []
    return tuple(dict.fromkeys((*own, *op.epilogue_inputs)))


def tables_of(op: Op) -> set[Tensor]:
    """The tables that a kernel looks up while it stores its result."""
    return {
        inner.operand(1)
        for inner in op.ops
        if inner.name in ELEMENTWISE and ELEMENTWISE[inner.name].table
    }


def _sliced(op: Op, target: Target) -> Launch:
    flat = flattens(op)
    return Launch.of(
        op,
        "elementwise/elementwise.jinja",
        sliced_grid(op.output.shape, target, flat),
        reads={},
        flatten=flat,
        flops=op.output.elements,
    )


def _linear(op: Op, target: Target) -> Launch:
    return Launch.of(
        op,
        "elementwise/elementwise_linear.jinja",
        linear_grid(prod(op.output.shape)),
        reads={},
        flops=op.output.elements,
    )


def _in_a_row(op: Op, target: Target) -> bool:
    """Whether rows shorter than a slice can be computed as if they were one, as none broadcasts."""
    columns, elements = op.output.shape[-1:], op.output.elements
    sizes = {tensor.elements for tensor in (*op.outputs, *read_in_store(op))}
    return columns < (target.lanes,) <= (elements,) and sizes <= {1, elements}


def _long_rows(op: Op, target: Target) -> str | None:
    """Rows of a slice at least, of their own or together; or shorter ones whose places in other
    tensors are found at once."""
    operands = read_in_store(op)
    if _in_a_row(op, target):
        return no_row_slices(op, target, operands)
    short = SHORTEST <= op.output.shape[-1] < target.lanes if op.output.shape else False
    if short and any(1 < tensor.elements < op.output.elements for tensor in operands):
        return no_row_slices(op, target, operands)
    return no_long_rows(op, target, operands)


def _rows(op: Op, target: Target) -> Launch:
    columns = op.output.elements if _in_a_row(op, target) else op.output.shape[-1]
    parts = slice_count(columns, target)
    items = op.output.elements // columns * parts
    return Launch.of(
        op,
        "elementwise/elementwise_rows.jinja",
        linear_grid(items),
        reads={},
        variables={"items": items, "parts": parts, "columns": columns},
        flops=op.output.elements,
    )


IMPLEMENTATIONS = (
    Implementation("elementwise", _sliced, rank_fits),
    row_major("elementwise_rows", _rows, _long_rows),
    row_major("elementwise_linear", _linear),
)


def _infer(op: Op) -> Sequence[Shape]:
    row = ELEMENTWISE[op.name]
    if row.table:
        return same_as_first(op)
    if len(op.inputs) != row.operands:
        raise ModelError(f"operator {op!r} has {len(op.inputs)} operands, but takes {row.operands}")
    return broadcast_shapes(op)


def define_elementwise(table: dict[str, Elementwise]) -> None:
    """Register the rows of a table of elementwise operators."""
    for name, row in table.items():
        ELEMENTWISE[name] = row
        define(
            name if name.startswith(OWN_PREFIX) else row.signature(name),
            _infer,
            IMPLEMENTATIONS,
            row.reference,
            row.dtypes,
            row.note,
            versions=row.versions,
            traits=row.traits(),
        )
