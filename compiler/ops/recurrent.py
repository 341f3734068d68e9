"""LSTM, RNN, SVDF, UNIDIRECTIONAL_SEQUENCE_LSTM and _RNN: shapes only.

`rewrites/decompose/recurrent.py` decomposes them.
"""

from __future__ import annotations

from ..errors import ModelError
from ..ir import Op, Shape
from .base import OpDef, define

OUTPUT_STATE, CELL_STATE = 18, 19
"""Positions of the LSTM inputs that keep their content between runs."""


def _infer_full(op: Op) -> list[Shape]:
    """The output of an LSTM: a vector of the size of its output state for each step."""
    return [(*op.operand(0).shape[:-1], op.operand(OUTPUT_STATE).shape[-1])]


def infer_lstm(op: Op) -> list[Shape]:
    """Output, new cell state and two scratch tensors for kernel type BASIC; else the output."""
    if op.attrs.get("kernel_type", "FULL") == "FULL":
        return _infer_full(op)
    source, output, weights, _, cell = (op.operand(i).shape for i in range(5))
    if min(map(len, (source, output, weights, cell))) < 2 or weights[0] != 4 * cell[-1]:
        raise ModelError(
            f"operator {op.index} {op.name}: weights {list(weights)} do not match the cell state "
            f"{list(cell)}"
        )
    rows = source[:-1]
    joint = (*rows, source[-1] + output[-1])
    return [(*rows, cell[-1]), (*rows, cell[-1]), joint, (*rows, 4 * cell[-1])][: len(op.outputs)]


def _infer_rnn(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:-1], op.operand(1).shape[0])]


def _infer_svdf(op: Op) -> list[Shape]:
    filters, rank = op.operand(1).shape[0], int(op.attrs.get("rank", 1))
    if rank < 1 or filters % rank or len(op.operand(0).shape) != 2:
        raise ModelError(
            f"operator {op.index} {op.name}: {filters} filters are not a multiple of the rank "
            f"{rank}, or the input does not have rank 2"
        )
    return [(op.operand(0).shape[0], filters // rank)]


_NOTE = "becomes FULLY_CONNECTED and elementwise operators"

define(
    OpDef("LSTM", infer_lstm, (), note=_NOTE, versions=4),
    OpDef("RNN", _infer_rnn, (), note=_NOTE, versions=3),
    OpDef("SVDF", _infer_svdf, (), note=_NOTE, versions=4),
    OpDef(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", _infer_full, (), note=f"{_NOTE}, step by step", versions=4
    ),
    OpDef("UNIDIRECTIONAL_SEQUENCE_RNN", _infer_rnn, (), note=f"{_NOTE}, step by step", versions=3),
)
