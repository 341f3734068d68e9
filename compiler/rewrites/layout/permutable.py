"""How operators change when their axes are permuted, by the trait `Permutable`."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...ir import Array, Op, Tensor, constant
from ...ops.base.definition import traits_of
from ...ops.base.traits import Permutable


def is_permutable(op: Op) -> bool:
    """Whether an operator can run with its axes in any order."""
    trait = traits_of(op.name).permutable
    if trait is None or op.epilogue or any(t.quantization for t in (*op.reads, *op.outputs)):
        return False
    rank = len(op.output.shape)
    tables = [op.operand(position) for position in trait.per_axis]
    if not all(table.constant and table.shape[:1] == (rank,) for table in tables):
        return False
    if trait.axes is not None and not op.operand(trait.axes).constant:
        return False
    return trait.condition(op)


def images(op: Op) -> Iterator[tuple[int, Tensor]]:
    """The operands that have the axes of the output, with their positions."""
    positions = permutable(op).images
    rank = len(op.output.shape)
    for position, tensor in enumerate(op.inputs):
        if tensor is None or (positions is not None and position not in positions):
            continue
        if tensor.elements > 1 or len(tensor.shape) == rank:
            yield position, tensor


def permuted_attrs(op: Op, order: Sequence[int]) -> dict[str, Any]:
    """The attributes after axis a of an operator has become axis `order[a]`."""
    trait = permutable(op)
    attrs = dict(op.attrs)
    if trait.axis is not None:
        attrs["axis"] = order[trait.axis(op)]
    for name in trait.bits:
        mask = int(op.attrs.get(name, 0))
        attrs[name] = sum(1 << order[axis] for axis in range(len(order)) if mask >> axis & 1)
    return attrs


def permuted_constants(op: Op, order: Sequence[int]) -> dict[int, Tensor]:
    """The operands that name axes or have one entry per axis, by position, permuted likewise."""
    trait = permutable(op)
    back = np.argsort(order)
    contents: dict[int, Array] = {}
    for position in trait.per_axis:
        contents[position] = op.constant(position)[back]
    if trait.axes is not None:
        axes = op.constant(trait.axes)
        contents[trait.axes] = np.asarray(order, axes.dtype)[axes]
    return {
        position: constant(f"{op.output.name}/input{position}", content)
        for position, content in contents.items()
    }


def permutable(op: Op) -> Permutable:
    """The trait of an operator that has it."""
    trait = traits_of(op.name).permutable
    assert trait is not None
    return trait
