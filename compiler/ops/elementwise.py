"""What elementwise operators share: how they run alone. Unary and binary ones are tables.

Fused into another operator they are rendered into its store; the same expressions serve both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..devices import Profile
from ..ir import Array, Op
from .base import (
    FLOATS,
    LINEAR,
    Kernel,
    Launch,
    OpDef,
    bhwc,
    broadcast_shapes,
    define,
    linear_grid,
    sliced_grid,
)


@dataclass(frozen=True)
class Elementwise:
    """An operator computed from the same element of each operand.

    `expression` is valid in both kernel languages for one lane and for a slice of lanes; the
    operands are {a}, {b} and {c}, an attribute of the operator is {attribute}, and {S} ends words
    that have a form of their own for slices. What gives a truth value, 0 or 1, is valid for one
    lane only, since only floats are stored in slices.
    """

    expression: str
    function: Callable[..., Array]
    """The same in numpy; takes the attributes the expression names as keywords."""
    integer: str | None = None
    """The same on integers, of one lane; None where there is no such thing."""
    dtypes: tuple[str, ...] = FLOATS
    """Types of the operands and the result."""
    switch: tuple[str, str] | None = None
    """An attribute, and the expression that holds where it is set."""

    def text(self, attrs: Mapping[str, Any], integers: bool, slices: bool) -> str:
        """The expression for operands that are floats or integers, slices or one lane of them."""
        if integers:
            assert self.integer is not None
            return self.integer
        text = self.expression
        if self.switch and attrs.get(self.switch[0]):
            text = self.switch[1]
        return text.replace("{S}", "S" if slices else "")

    def reference(self, op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
        named = {key for key in op.attrs if f"{{{key}}}" in self.expression}
        named |= {self.switch[0]} & op.attrs.keys() if self.switch else set()
        with np.errstate(all="ignore"):
            result = self.function(*arrays, **{key: op.attrs[key] for key in named})
            return [np.asarray(result).astype(op.output.dtype)]


ELEMENTWISE: dict[str, Elementwise] = {}
"""Every elementwise operator by name."""


def rank_fits(op: Op, profile: Profile) -> str | None:
    """Slices need a batch, a height, a width and channels."""
    ranks = [len(tensor.shape) for tensor in (*op.reads, *op.outputs)]
    return f"rank {max(ranks)} is above 4" if max(ranks) > 4 else None


def flattens(op: Op) -> bool:
    """Whether height and width can be taken as one axis: no operand broadcasts over just one."""
    _, rows, columns, _ = bhwc(op.output.shape)
    images = [bhwc(tensor.shape)[1:3] for tensor in op.reads]
    return all(image in ((rows, columns), (1, 1)) for image in images)


def _sliced(op: Op, profile: Profile) -> Sequence[Launch]:
    flat = flattens(op)
    return [
        Launch(
            "elementwise/elementwise.jinja",
            sliced_grid(op.output.shape, profile, flat),
            {},
            {"y": op.output},
            flatten=flat,
            flops=op.output.elements,
        )
    ]


def _linear(op: Op, profile: Profile) -> Sequence[Launch]:
    return [
        Launch(
            "elementwise/elementwise_linear.jinja",
            linear_grid(prod(op.output.shape)),
            {},
            {"y": op.output},
            flops=op.output.elements,
        )
    ]


KERNELS = (
    Kernel("elementwise", _sliced, rank_fits),
    Kernel("elementwise_linear", _linear, reads=LINEAR, writes=LINEAR),
)


def define_elementwise(table: dict[str, Elementwise]) -> None:
    """Register the rows of a table of elementwise operators."""
    for name, row in table.items():
        ELEMENTWISE[name] = row
        define(OpDef(name, broadcast_shapes, KERNELS, row.reference, row.dtypes))
