"""Small models for tests, as expressions or as text; both give a graph, a file and its inputs."""

from .build import Model, model
from .draws import DRAWS, drawn
from .text import lines, parsed
from .values import (
    Call,
    Constant,
    Input,
    Part,
    State,
    Value,
    call,
    ints,
    known,
    largest,
    number,
    parts,
    reshape,
    table,
    transpose,
    typed,
    w,
    x,
    xi,
)

__all__ = [
    "DRAWS",
    "Call",
    "Constant",
    "Input",
    "Model",
    "Part",
    "State",
    "Value",
    "call",
    "drawn",
    "ints",
    "known",
    "largest",
    "lines",
    "model",
    "number",
    "parsed",
    "parts",
    "reshape",
    "table",
    "transpose",
    "typed",
    "w",
    "x",
    "xi",
]
