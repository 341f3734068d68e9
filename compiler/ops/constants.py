"""Operators that are computed at compile time, since their results are constants."""

from typing import Any

import numpy as np

from ..ir import Array, Op, Shape
from ..ir.tensor import dequantized
from .base.definition import Infer, Reference, define
from .base.shapes import broadcast, same_as_first
from .base.storage import ANY


def _dequantize(op: Op, x: Array) -> Array:
    """LiteRT takes the scale that integers lack for 0."""
    real = dequantized(op.operand(0))
    if real is None:
        return x.astype(np.float32) if x.dtype.kind == "f" else np.zeros(x.shape, np.float32)
    return real


def _range(op: Op, *arrays: Array) -> Array:
    start, limit, step = (op.number(i) for i in range(3))
    if step == 0:
        raise op.invalid("the step is 0")
    return np.arange(start, limit, step).astype(op.output.dtype)


def _iota(op: Op, *arrays: Array) -> Array:
    """Each element is its index along one axis (StableHLO's specification, iota)."""
    shape, axis = op.output.shape, int(op.attrs.get("iota_dimension", 0))
    if not 0 <= axis < len(shape):
        raise op.invalid(f"{list(shape)} has no axis {axis}")
    counted = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return np.broadcast_to(counted, shape).astype(op.output.dtype)


def _where(op: Op, *arrays: Array) -> Array:
    return np.argwhere(op.constant(0)).astype(op.output.dtype)


def _joint_shape(op: Op, *arrays: Array) -> Array:
    shapes = [tuple(op.integers(i)) for i in range(2)]
    return np.asarray(broadcast(op, *shapes), op.output.dtype)


def _infer_fill(op: Op) -> list[Shape]:
    shape = tuple(op.integers(0))
    if min(shape, default=0) < 0 or op.operand(1).elements != 1:
        raise op.invalid(f"the shape {list(shape)} is negative, or the fill value is not a scalar")
    return [shape]


def _shape_of(reference: Reference) -> Infer:
    """The shape of what a reference computes of constants."""
    return lambda op: [np.shape(reference(op))]


def _folded(signature: str, infer: Infer, reference: Reference, note: str, **more: Any) -> None:
    define(signature, infer, (), reference, note=note, **{"dtypes": ANY, **more})


_SHAPE = "of a known shape"

_folded(
    "BROADCAST_ARGS a:integer b:integer -> y", _shape_of(_joint_shape), _joint_shape, "of constants"
)
# The reader has decoded the sparse constant already.
_folded("DENSIFY x:T -> y:T", same_as_first, lambda op, x: x, "of constants", dtypes=("float32",))
_folded("DEQUANTIZE x -> y", same_as_first, _dequantize, "of integers and float16", versions=9)
_folded(
    "FILL shape:integer value:T -> y:T",
    _infer_fill,
    lambda op, shape, value: np.full(op.output.shape, value.reshape(())),
    "the shape must be a constant",
    versions=5,
)
_folded(
    "RANGE start:T limit:T step:T -> y:T", _shape_of(_range), _range, "of constants", versions=2
)
_folded(
    "RANK x -> y:int32",
    lambda op: [()],
    lambda op, _: len(op.operand(0).shape),
    _SHAPE,
    reads_shapes_only=True,
)
_folded(
    "SHAPE x -> y",
    lambda op: [(len(op.operand(0).shape),)],
    lambda op, _: np.array(op.operand(0).shape),
    _SHAPE,
    reads_shapes_only=True,
)
_folded("STABLEHLO_IOTA -> y", lambda op: [op.output.shape], _iota, "LiteRT has no kernel")
_folded("WHERE condition -> y:integer", _shape_of(_where), _where, "of constants", versions=2)
_folded(
    "ZEROS_LIKE x:T -> y:T",
    same_as_first,
    lambda op, _: np.zeros(op.operand(0).shape),
    _SHAPE,
    reads_shapes_only=True,
)
