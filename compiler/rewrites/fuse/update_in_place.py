"""A variable that is only read to replace some of its elements is updated where it lies.

    u = DYNAMIC_UPDATE_SLICE(v, part, starts)   v' = tflgpu.keep(u)
becomes   u = tflgpu.update(v, part, starts)   which writes `part` into v, whose memory u shares

Others may read u, but nothing else may read v: its content is gone once it is updated.
"""

from ....runtime.plan.storage import WORD, item_size
from ...ir import Graph, Op, Tensor
from ...ops import RESHAPES
from ...ops.indexing.update import IN_PLACE
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

UPDATE = "DYNAMIC_UPDATE_SLICE"


@graph_rewrite()
def update_in_place(graph: Graph, target: Target) -> Attempts:
    """Every variable whose new content comes of such updates, one after another."""
    for written, variable in list(graph.kept.items()):
        keep = graph.producer(written)
        assert keep is not None
        updates, reason = _updates(graph, keep.operand(0), variable)
        if not updates or not (yield Attempt((*updates, keep), reason)):
            continue
        value = keep.operand(0)
        del graph.kept[written]
        graph.remove(keep)
        graph.kept[value] = variable
        for op in updates:
            inputs, outputs, index = op.inputs, op.outputs, op.index
            graph.remove(op)
            graph.add(Op(IN_PLACE, inputs, outputs, index=index, origins=op.origins))


def _updates(graph: Graph, value: Tensor, variable: Tensor) -> tuple[list[Op], str | None]:
    """The updates between a variable and its new content, and why it cannot be updated in place."""
    updates: list[Op] = []
    reason = None
    if item_size(variable.dtype) != WORD:
        reason = f"{variable.name} has elements of less than a word"
    while value is not variable:
        if value in graph.outputs:
            reason = f"{value.name} is an output too"
        op = graph.producer(value)
        if op is None or op.epilogue or op.name not in (*RESHAPES, UPDATE):
            return [], None
        if op.name == UPDATE:
            updates.append(op)
        value = op.operand(0)
        if updates and (graph.consumers(value) != [op] or op.inputs.count(value) > 1):
            reason = f"{value.name} is read elsewhere before it is updated"
    return updates, reason
