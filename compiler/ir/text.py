"""Operators as text, a line each: the language of the pass tests and of `tflgpu explain --dump`.

    t = CONV_2D(x, w, none) padding=SAME
    y = ADD(t, r)

A fused operator lists what its kernel computes, and in front what it stores:

    y, t = { t = CONV_2D(x, w, none) | y = RELU6(t) }
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .op import FusedOp, Op


def to_text(ops: Iterable[Op]) -> str:
    """A line for each operator."""
    return "\n".join(map(line, ops))


def line(op: Op) -> str:
    """One operator as text."""
    results = ", ".join(tensor.name for tensor in op.outputs)
    if isinstance(op, FusedOp):
        return f"{results} = {{ {' | '.join(map(line, op.ops))} }}"
    operands = ", ".join("none" if t is None else t.name for t in op.inputs)
    attrs = "".join(f" {key}={_value(value)}" for key, value in op.attrs.items())
    return f"{results} = {op.name}({operands}){attrs}"


def _value(value: Any) -> str:
    return str(value).replace(" ", "")
