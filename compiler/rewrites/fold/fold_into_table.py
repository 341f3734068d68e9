"""What is computed of an integer and of its entry in a table becomes a table itself.

s = tflgpu.look_up(x, sigmoid)   y = tflgpu.requantize_product(x, s)
becomes   y = tflgpu.look_up(x, products)
"""

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.elementwise.elementwise import ELEMENTWISE
from ..rewrite import rewrite

# The elementwise operators whose results are whole numbers, which tables have as bytes.
_OF_INTEGERS = frozenset(name for name, row in ELEMENTWISE.items() if row.range is not None)


@rewrite("tflgpu.look_up", _OF_INTEGERS)
def fold_into_table(graph: Graph, look_up: Op, op: Op) -> str | None:
    x, offset, entries = look_up.operand(0), look_up.attrs["offset"], look_up.constant(1)
    known = {x: np.arange(entries.size, dtype=np.float32) - offset, look_up.output: entries}
    arrays = []
    for place, tensor in enumerate(op.reads):
        is_table = ELEMENTWISE[op.name].table and place == 1
        if tensor not in known and tensor.number is None and not is_table:
            return f"it also reads {tensor.name}"
        arrays.append(known[tensor] if tensor in known else op.constant(place))
    if op.output.shape != x.shape:
        return "its result has another shape than the integers"
    with np.errstate(all="ignore"):
        results = ELEMENTWISE[op.name].reference(op, *arrays)
    table = constant(f"{op.output.name}/table", results.reshape(-1))
    op.name, op.attrs = look_up.name, {"offset": offset}
    graph.set_inputs(op, (x, table))
    graph.remove(look_up)
    return None
