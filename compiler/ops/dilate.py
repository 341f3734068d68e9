"""DILATE and STABLEHLO_PAD: a value between the elements of a tensor, and around it; shapes only.

`rewrites/decompose/dilate.py` decomposes them.
"""

from ..ir import Op, Shape
from .base.definition import define
from .base.storage import ANY


def dilations(op: Op) -> list[int]:
    """How far apart the elements are along each axis (ModelError)."""
    if op.name == "DILATE":
        steps = op.integers(1)
    else:
        steps = [1 + between for between in op.integers_in("interior_padding")]
    rank = len(op.operand(0).shape)
    fill = op.operand(len(op.inputs) - 1)
    if len(steps) != rank or min(steps, default=1) < 1 or fill.elements != 1:
        raise op.invalid(f"dilations {steps} and {fill.name} for rank {rank}")
    return steps


def edges(op: Op) -> list[tuple[int, int]]:
    """For each axis the elements to add before and after; negative numbers crop (ModelError)."""
    rank = len(op.operand(0).shape)
    if op.name == "DILATE":
        return [(0, 0)] * rank
    before, after = op.integers_in("edge_padding_low"), op.integers_in("edge_padding_high")
    if len(before) != rank or len(after) != rank:
        raise op.invalid(f"paddings {before} and {after} for rank {rank}")
    return list(zip(before, after, strict=True))


def _infer(op: Op) -> list[Shape]:
    sizes = zip(op.operand(0).shape, dilations(op), edges(op), strict=True)
    return [
        tuple(
            max(max((n - 1) * step + 1, 0) + before + after, 0)
            for n, step, (before, after) in sizes
        )
    ]


define(
    "DILATE x:T dilations:integer fill:T -> y:T",
    _infer,
    dtypes=ANY,
    note="becomes PADV2 and SLICE; the dilations must be constants",
)
define("STABLEHLO_PAD x:T fill:T -> y:T", _infer, dtypes=ANY, note="becomes PADV2 and SLICE")
