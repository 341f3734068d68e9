"""The activation fused into an operator's options becomes an operator of its own.

    y = CONV_2D(x, w) fused_activation_function=RELU6
    becomes   t = CONV_2D(x, w)   y = RELU6(t)

Later passes then treat all activations alike; `fuse_elementwise` puts them back together.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import ModelError
from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ...target import Target
from ..rewrite import Attempt, graph_rewrite

FIELD = "fused_activation_function"
NOT_FUSED = frozenset(["NONE"])
RECURRENT = frozenset(
    ["LSTM", "RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"]
)
"""Operators whose activation is not the last thing they do."""


@graph_rewrite(required=True)
def split_activation(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Of every operator that has one (ModelError for an activation that is not known)."""
    for op in graph.ops:
        activation = op.attrs.get(FIELD, "NONE")
        if op.name not in OPS or op.name in RECURRENT or activation in NOT_FUSED:
            continue
        if activation not in OPS:
            raise ModelError(f"operator {op!r} has the unknown activation {activation!r}")
        yield Attempt((op,))
        result = op.output
        before = Tensor(f"{result.name}/before_{activation.lower()}", result.shape, result.dtype)
        op.attrs = {**op.attrs, FIELD: "NONE"}
        graph.set_outputs(op, (before, *op.outputs[1:]))
        graph.add(Op(activation, (before,), (result,), index=op.index))
