"""A layer that runs in both directions becomes two layers.

y = BIDIRECTIONAL_SEQUENCE_RNN(x, weights...) merge_outputs=True
becomes
    a = UNIDIRECTIONAL_SEQUENCE_RNN(x, weights...)   r = REVERSE_V2(x)
    b = UNIDIRECTIONAL_SEQUENCE_RNN(r, weights...)   c = REVERSE_V2(b)
    y = CONCATENATION(a, c)
"""

from ...ir import Graph, Op, Tensor
from ...ops.decomposed.recurrent import AUXILIARY, layers
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .decomposition import Decomposition, Results


@graph_rewrite(required=True)
def split_directions(graph: Graph, target: Target) -> Attempts:
    """Before quantized layers are lowered (UnsupportedError for a layer with a second input)."""
    for op in graph.ops:
        if op.name not in AUXILIARY:
            continue
        if op.input(AUXILIARY[op.name]) is not None:
            raise op.unsupported("it has an auxiliary input")
        yield Attempt((op,))
        here = Decomposition(graph, op, target)
        here.apply(_split(here))


def _split(here: Decomposition) -> Results:
    op = here.op
    time = here.constant([0 if op.attrs.get("time_major", False) else 1], "int32")
    forward, backward = layers(op)

    def results(layer: Op, source: Tensor) -> Tensor:
        return here.add(layer.name, source, *layer.inputs[1:], **layer.attrs)

    ahead = results(forward, op.operand(0))
    behind = results(backward, here.add("REVERSE_V2", op.operand(0), time))
    behind = here.add("REVERSE_V2", behind, time)
    if op.attrs.get("merge_outputs", False):
        return here.add("CONCATENATION", ahead, behind, axis=2)
    return ahead, behind
