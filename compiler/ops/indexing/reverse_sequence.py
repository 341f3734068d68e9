"""REVERSE_SEQUENCE: reverses the first entries of each sequence."""

from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_launch
from ..base.shapes import normalize_axis
from ..base.storage import ANY


def _axes(op: Op) -> tuple[int, int]:
    """The axis that is reversed, and the axis along which the lengths apply."""
    rank = len(op.operand(0).shape)
    names = ("seq_dim", "batch_dim")
    steps, batch = (normalize_axis(op, int(op.attrs.get(name, 0)), rank) for name in names)
    return steps, batch


def _infer(op: Op) -> list[Shape]:
    shape, lengths = op.operand(0).shape, op.operand(1).shape
    if lengths != (shape[_axes(op)[1]],):
        raise op.invalid(f"lengths {list(lengths)} for {list(shape)}")
    return [shape]


def _build(op: Op, target: Target) -> Launch:
    shape = op.output.shape
    steps, batch = _axes(op)
    return linear_launch(
        op,
        "move/reverse_sequence.jinja",
        reads={"x": op.operand(0), "lengths": op.operand(1)},
        variables={
            "size": shape[steps],
            "stride": prod(shape[steps + 1 :]),
            "batches": shape[batch],
            "batch_stride": prod(shape[batch + 1 :]),
        },
    )


def _reference(op: Op, x: Array, lengths: Array) -> Array:
    steps, batch = _axes(op)
    result = x.copy()
    rows = np.moveaxis(result, (batch, steps), (0, 1))
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    return result


_REVERSE = row_major("reverse_sequence", _build)

define("REVERSE_SEQUENCE x:T lengths:int32|int64 -> y:T", _infer, (_REVERSE,), _reference, ANY)
