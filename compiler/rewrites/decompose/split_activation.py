"""An activation in an operator's options becomes a separate operator.

    y = CONV_2D(x, w) fused_activation_function=RELU6
    becomes   t = CONV_2D(x, w)   y = RELU6(t)

Later rewrites then treat all activations alike; `fuse_elementwise` fuses them again.
"""

from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ...ops.base.definition import FUSED_ACTIVATION, activation_of
from ...ops.decomposed.recurrent import STEPPING
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite(required=True)
def split_activation(graph: Graph, target: Target) -> Attempts:
    """For every operator with an activation (ModelError if the activation is unknown)."""
    for op in graph.ops:
        if op.name not in OPS or op.name in STEPPING:
            continue
        activation = activation_of(op)
        if activation is None:
            continue
        yield Attempt((op,))
        result = op.output
        before = Tensor(f"{result.name}/before_{activation.lower()}", result.shape, result.dtype)
        op.attrs = {**op.attrs, FUSED_ACTIVATION: "NONE"}
        graph.set_outputs(op, (before, *op.outputs[1:]))
        graph.add(Op(activation, (before,), (result,), index=op.index))
