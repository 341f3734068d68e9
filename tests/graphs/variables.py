"""Models that keep variables between runs."""

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Op, Tensor, constant

from .operators import graph_of


def running_total() -> bytes:
    """A resource variable that starts at 0.5 and adds up what the model is given."""
    handles = [Tensor(f"handle{i}", (), "resource") for i in range(2)]
    names = {"container": "", "shared_name": "total"}
    start = constant("start", np.full((2, 3), 0.5, np.float32))
    once = graph_of(
        Op("VAR_HANDLE", (), (handles[0],), dict(names)),
        Op("ASSIGN_VARIABLE", (handles[0], start), ()),
        outputs=(),
    )
    x, before, y = (Tensor(name, (2, 3)) for name in ("x", "before", "y"))
    ops = (
        Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}),
        Op("VAR_HANDLE", (), (handles[1],), dict(names)),
        Op("READ_VARIABLE", (handles[1],), (before,)),
        Op("ADD", (before, x), (y,)),
        Op("ASSIGN_VARIABLE", (handles[1], y), ()),
    )
    return write(graph_of(*ops, outputs=[y], subgraphs=[once]))
