"""Reductions keep axes that reshapes bring back after some arithmetic.

    m = MEAN(x[2,5,19]) axes=(2,)   r = RSQRT(m)   y = RESHAPE(r) new_shape=(2,5,1)
    becomes   m = MEAN(x) axes=(2,) keep_dims=True   y = RSQRT(m)

PyTorch's converter writes the statistics of a normalization this way.
"""

from ...ir import Graph, Op, Shape, Tensor
from ...ops import RESHAPES
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.reduce.reduce import REDUCTIONS, kept_shape
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def keep_reduced_axes(graph: Graph, target: Target) -> Attempts:
    """For every reduction that drops its axes, with the arithmetic between it and the reshapes."""
    for op in graph.ops:
        if op in graph and _drops_axes(op):
            found = _until_reshaped(graph, op)
            if found is None:
                yield Attempt((op,), "its result is also used without the reduced axes")
                continue
            arithmetic, reshapes = found
            yield Attempt((*arithmetic, *reshapes))
            _keep(graph, arithmetic, kept_shape(op))
            for reshape in reshapes:
                graph.bypass(reshape)


def _drops_axes(op: Op) -> bool:
    return op.name in REDUCTIONS and op.output.shape != kept_shape(op) and not op.epilogue


def _until_reshaped(graph: Graph, reduction: Op) -> tuple[list[Op], list[Op]] | None:
    """The operators up to reshapes that restore the axes, and these; None if a path has none."""
    kept = kept_shape(reduction)
    found: dict[Op, None] = {}
    reshapes: dict[Op, None] = {}
    waiting = [reduction]
    while waiting:
        op = waiting.pop()
        if op in found or op in reshapes:
            continue
        if op.name in RESHAPES and op.output.shape == kept:
            reshapes[op] = None
            continue
        reduces = _drops_axes(op) and kept_shape(op) == kept
        computes = op.name in ELEMENTWISE and op.output.shape == reduction.output.shape
        if not (reduces or computes) or op.epilogue or graph.is_output(op.output):
            return None
        found[op] = None
        before = [] if reduces else [t for t in op.inputs if t is not None and t.number is None]
        for tensor in before:
            producer = graph.producer(tensor)
            if producer is None:
                return None
            waiting.append(producer)
        waiting += graph.consumers(op.output)
    return list(found), list(reshapes)


def _keep(graph: Graph, arithmetic: list[Op], kept: Shape) -> None:
    for op in arithmetic:
        dropped = op.output
        graph.set_outputs(op, (Tensor(dropped.name, kept, dropped.dtype),))
        graph.replace(dropped, op.output)
        if op.name in REDUCTIONS:
            op.attrs = {**op.attrs, "keep_dims": True}
