"""The activation fused into an operator's options becomes an operator of its own.

    y = CONV_2D(x, w) fused_activation_function=RELU6
    becomes   t = CONV_2D(x, w)   y = RELU6(t)

Later passes then treat all activations alike; `fuse_elementwise` puts them back together.
"""

from __future__ import annotations

from ...devices import Profile
from ...errors import ModelError
from ...events import Event, describe
from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ..rewrite import check

FIELD = "fused_activation_function"
NOT_FUSED = frozenset(["NONE"])
RECURRENT = frozenset(
    ["LSTM", "RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"]
)
"""Operators whose activation is not the last thing they do."""


def split_activation(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to every operator that has one (ModelError for an activation nobody knows)."""
    events = []
    for op in graph.ops:
        activation = op.attrs.get(FIELD, "NONE")
        if op.name not in OPS or op.name in RECURRENT or activation in NOT_FUSED:
            continue
        if activation not in OPS:
            raise ModelError(f"operator {op.index} {op.name}: no activation {activation!r}")
        events.append(Event("split_activation", (describe(op),), None))
        result = op.output
        before = Tensor(f"{result.name}/before_{activation.lower()}", result.shape, result.dtype)
        op.attrs = {**op.attrs, FIELD: "NONE"}
        graph.set_outputs(op, (before, *op.outputs[1:]))
        graph.add(Op(activation, (before,), (result,), index=op.index))
        check(graph, "split_activation")
    return events
