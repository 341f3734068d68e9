"""PACK and UNPACK: tensors stacked along a new axis, and split along one.

`rewrites/decompose/pack.py` turns every PACK into RESHAPEs and a CONCATENATION.
"""

import numpy as np

from ..ir import Op, Shape
from .affine_moves import Axis, Move
from .base.definition import define
from .base.shapes import normalize_axis
from .base.storage import ANY
from .base.traits import Traits
from .move import define_move


def infer(op: Op) -> list[Shape]:
    shapes = {op.operand(i).shape for i in range(len(op.inputs))}
    if len(shapes) != 1:
        listed = ", ".join(str(list(shape)) for shape in sorted(shapes))
        raise op.invalid(f"the shapes of its inputs differ: {listed}")
    shape = shapes.pop()
    axis = normalize_axis(op, int(op.attrs.get("axis", 0)), len(shape) + 1)
    return [(*shape[:axis], len(op.inputs), *shape[axis:])]


def _unpack(op: Op) -> list[Move]:
    shape = op.operand(0).shape
    axis = normalize_axis(op, int(op.attrs.get("axis", 0)), len(shape))
    if shape[axis] != len(op.results):
        raise op.invalid(f"{list(shape)} does not split into {len(op.results)} along axis {axis}")
    left = (*shape[:axis], *shape[axis + 1 :])
    kept = [Axis(i if i < axis else i - 1) for i in range(len(shape))]
    return [
        Move(left or (1,), (*kept[:axis], Axis(0, part, 0), *kept[axis + 1 :]))
        for part in range(shape[axis])
    ]


def _infer_unpack(op: Op) -> list[Shape]:
    return [move.shape if len(op.operand(0).shape) > 1 else () for move in _unpack(op)]


define(
    "PACK x:T+ -> y:T",
    infer,
    reference=lambda op, *arrays: np.stack(arrays, int(op.attrs.get("axis", 0))),
    dtypes=ANY,
    note="becomes RESHAPE and CONCATENATION",
    versions=5,
    traits=Traits(moves=True),
)
define_move("UNPACK x:T -> y:T*", _unpack, _infer_unpack, versions=6)
