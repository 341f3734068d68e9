"""IF, WHILE, STABLEHLO_COMPOSITE and variables, which rewrites resolve; shapes only."""

from __future__ import annotations

from ..ir import Op, Shape
from .base import ANY, define

CONTROL = ("IF", "WHILE")
"""Operators whose results have the shapes of what they run, which the file may not know."""


def as_the_file_says(op: Op) -> list[Shape]:
    """The shapes in the file, until a rewrite has put what they run in the operators' place."""
    return [tensor.shape for tensor in op.outputs]


define(
    "IF condition inputs* -> outputs*",
    as_the_file_says,
    dtypes=ANY,
    note="both branches run if the condition is computed; they must be small and keep nothing",
    unimplemented_reason="the condition is computed while the model runs",
)
define(
    "STABLEHLO_COMPOSITE inputs* -> outputs*",
    as_the_file_says,
    dtypes=ANY,
    note="becomes its subgraph",
)
define(
    "WHILE inputs* -> outputs*",
    as_the_file_says,
    dtypes=ANY,
    note="the number of iterations must follow from constants",
    unimplemented_reason="the number of iterations is known only while the model runs",
)

for _signature in (
    "ASSIGN_VARIABLE handle:resource value ->",
    "CALL_ONCE ->",
    "READ_VARIABLE handle:resource -> value",
    "VAR_HANDLE -> handle:resource",
):
    define(
        _signature,
        as_the_file_says,
        dtypes=ANY,
        note="becomes state kept between runs",
        unimplemented_reason="its variable is used in a loop or a branch",
    )
