"""A negation moves through products and is absorbed by a sum or difference.

    n = NEG(x)   t = MUL(n, a)   y = ADD(t, b)
    becomes   t = MUL(x, a)   y = SUB(b, t)

Results do not change by a single bit. It pays if x is smaller than the product, as in norms.
"""

from __future__ import annotations

from ...ir import Graph, Op, Tensor
from ..rewrite import Declined, rewrite

READERS = frozenset(["ADD", "MUL", "SUB"])


@rewrite("NEG", READERS)
def move_negation(graph: Graph, negation: Op, reader: Op) -> Declined | None:
    return _move(graph, negation, reader)


def _move(graph: Graph, negation: Op, reader: Op) -> Declined | None:
    if all(operand is negation.output for operand in reader.inputs):
        return Declined("both operands are the negated value")
    if reader.name == "SUB" and reader.operand(0) is negation.output:
        return Declined("the negated value is the minuend")
    other = reader.operand(1 - reader.inputs.index(negation.output))
    graph.set_inputs(reader, (other, negation.operand(0)))
    graph.remove(negation)
    if reader.name != "MUL":
        reader.name = "SUB" if reader.name == "ADD" else "ADD"
        return None
    result = reader.output
    product = Tensor(f"{result.name}/product", result.shape, result.dtype)
    graph.set_outputs(reader, (product,))
    moved = graph.add(Op("NEG", (product,), (result,), index=reader.index))
    next_reader = graph.only_reader(result)
    if next_reader is not None and next_reader.name in READERS:
        _move(graph, moved, next_reader)
    return None
