"""IF and WHILE, which are written out beforehand or not at all, and composites."""

from __future__ import annotations

from ..ir import Op, Shape
from .base import ANY, OpDef, define


def _as_the_file_says(op: Op) -> list[Shape]:
    return [tensor.shape for tensor in op.outputs]


define(
    OpDef(
        "IF",
        _as_the_file_says,
        (),
        None,
        ANY,
        note="if the condition is a constant",
        refusal="the condition is computed while the model runs",
    ),
    OpDef("STABLEHLO_COMPOSITE", _as_the_file_says, (), None, ANY, note="becomes its subgraph"),
    OpDef(
        "WHILE",
        _as_the_file_says,
        (),
        None,
        ANY,
        note="if the number of rounds follows from constants",
        refusal="how often it runs is only known while the model runs",
    ),
)
