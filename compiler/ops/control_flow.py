"""IF and WHILE, which are written out beforehand or not at all, composites, and variables."""

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

for _name in ("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"):
    define(
        OpDef(
            _name,
            _as_the_file_says,
            (),
            None,
            ANY,
            note="become state that lasts from run to run",
            refusal="its variable is used in a loop or a branch",
        )
    )
