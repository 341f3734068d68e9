"""Models that keep variables between runs."""

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant


def running_total() -> bytes:
    """A resource variable that starts at 0.5 and adds up what the model is given."""
    handles = [Tensor(f"handle{i}", (), "resource") for i in range(2)]
    names = {"container": "", "shared_name": "total"}
    once, graph = Graph(), Graph()
    once.add(Op("VAR_HANDLE", (), (handles[0],), dict(names)))
    start = constant("start", np.full((2, 3), 0.5, np.float32))
    once.add(Op("ASSIGN_VARIABLE", (handles[0], start), (), {}, 1))
    graph.subgraphs = {1: once}
    x, before, y = (Tensor(name, (2, 3)) for name in ("x", "before", "y"))
    graph.inputs, graph.outputs = [x], [y]
    graph.input_names, graph.output_names = ["x"], ["y"]
    graph.add(Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}))
    graph.add(Op("VAR_HANDLE", (), (handles[1],), dict(names), 1))
    graph.add(Op("READ_VARIABLE", (handles[1],), (before,), {}, 2))
    graph.add(Op("ADD", (before, x), (y,), {}, 3))
    graph.add(Op("ASSIGN_VARIABLE", (handles[1], y), (), {}, 4))
    return write(graph)
