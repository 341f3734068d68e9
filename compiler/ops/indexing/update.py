"""DYNAMIC_UPDATE_SLICE: a tensor with a part replaced, at coordinates computed by the model.

tflgpu.update is the same in the tensor's own memory, of which it writes that part alone.
"""

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid, linear_launch
from ..base.storage import ANY
from ..base.traits import Traits


def _infer(op: Op) -> list[Shape]:
    whole, part, starts = (op.operand(i).shape for i in range(3))
    fits = len(whole) == len(part) and all(p <= w for p, w in zip(part, whole, strict=True))
    if not fits or starts != (len(whole),):
        raise op.invalid(
            f"the update {list(part)} does not fit {list(whole)}, or the start indices "
            f"{list(starts)} do not have one entry per axis"
        )
    return [whole]


def _build(op: Op, target: Target) -> Launch:
    return linear_launch(
        op,
        "move/update.jinja",
        reads={"x": op.operand(0), "part": op.operand(1), "starts": op.operand(2)},
    )


def _build_in_place(op: Op, target: Target) -> Launch:
    return Launch.of(
        op,
        "move/update_in_place.jinja",
        linear_grid(op.operand(1).elements),
        reads={"part": op.operand(1), "starts": op.operand(2)},
    )


def _reference(op: Op, whole: Array, part: Array, starts: Array) -> Array:
    """Starts are clamped so that the part lies inside the tensor."""
    result = whole.copy()
    sizes = zip(starts, whole.shape, part.shape, strict=True)
    firsts = [int(np.clip(start, 0, size - taken)) for start, size, taken in sizes]
    spans = zip(firsts, part.shape, strict=True)
    result[tuple(slice(first, first + taken) for first, taken in spans)] = part
    return result


define(
    "DYNAMIC_UPDATE_SLICE x:T update:T start:integer -> y:T",
    _infer,
    (row_major("update", _build),),
    _reference,
    ANY,
    versions=6,
    traits=Traits(identity=lambda op: not op.operand(1).elements),
)
define(
    "tflgpu.update",
    _infer,
    (row_major("update_in_place", _build_in_place, fuses=False, updates=True),),
    None,
    ANY,
)
