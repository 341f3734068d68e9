"""Models with operators that only the application knows."""

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant

SHAPE = (1, 5, 7, 3)
ADDED = np.array([1, 2, 3], np.float32)
OPTIONS = b"to the left"


def swirled() -> bytes:
    """y = exp(swirl), rest = -remains of: swirl, remains = Swirl(|x|, nothing, a constant)."""
    graph = Graph("swirled")
    x, size, swirl, remains, y, rest = (
        Tensor(name, SHAPE) for name in ("x", "size", "swirl", "remains", "y", "rest")
    )
    operands = (size, None, constant("added", ADDED))
    graph.add(Op("ABS", (x,), (size,)))
    graph.add(Op("Swirl", operands, (swirl, remains), {"custom_options": OPTIONS}, 1))
    graph.add(Op("EXP", (swirl,), (y,), {}, 2))
    graph.add(Op("NEG", (remains,), (rest,), {}, 3))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y, rest], ["y", "rest"]
    return write(graph)


def counted() -> bytes:
    """count = Count(x), both int8."""
    graph = Graph("counted")
    x, count = (Tensor(name, (4,), "int8") for name in ("x", "count"))
    graph.add(Op("Count", (x,), (count,)))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [count], ["count"]
    return write(graph)
