"""BIDIRECTIONAL_SEQUENCE_LSTM and _RNN: shapes, and the layers that they run in each direction.

`rewrites/decompose/split_directions.py` puts these layers in their place.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ModelError
from ..ir import Op, Shape, Tensor
from .base import OPS, OpDef, define

AUXILIARY = {"BIDIRECTIONAL_SEQUENCE_LSTM": 39, "BIDIRECTIONAL_SEQUENCE_RNN": 9}
"""The position of a second input, which stacked layers may have."""

_IN_LITERT = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": "with batch first and a batch above 1, LiteRT's results vary",
    "BIDIRECTIONAL_SEQUENCE_RNN": "with int8 weights and time first, LiteRT's results are wrong",
}


def layers(op: Op) -> tuple[Op, Op]:
    """The layer that runs forwards, and the one that runs backwards; they are in no graph."""
    name = op.name.replace("BIDIRECTIONAL", "UNIDIRECTIONAL")
    attrs = {key: value for key, value in op.attrs.items() if key != "merge_outputs"}
    forward, backward = (
        Op(name, (op.operand(0), *own), (Tensor("y", ()),), attrs, op.index)
        for own in (_operands(op, 0), _operands(op, 1))
    )
    return forward, backward


def _operands(op: Op, direction: int) -> Sequence[Tensor | None]:
    """The weights and states of a direction; those of an LSTM have all weights in front."""
    if op.name == "BIDIRECTIONAL_SEQUENCE_RNN":
        return op.inputs[1 + 4 * direction :][:4]
    return *op.inputs[1 + 17 * direction :][:17], *op.inputs[35 + 2 * direction :][:2]


def _infer(op: Op) -> list[Shape]:
    forward, backward = (OPS[layer.name].infer(layer)[0] for layer in layers(op))
    merged = bool(op.attrs.get("merge_outputs", False))
    if len(op.outputs) != 2 - merged:
        raise ModelError(f"operator {op!r}: it has {len(op.outputs)} results, merged: {merged}")
    return [(*forward[:-1], forward[-1] + backward[-1])] if merged else [forward, backward]


for _name in AUXILIARY:
    _layer = _name.replace("BIDIRECTIONAL", "UNIDIRECTIONAL")
    _note = f"becomes a {_layer} in each direction; {_IN_LITERT[_name]}"
    define(OpDef(_name, _infer, note=_note, versions=3))
