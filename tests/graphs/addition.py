"""A model of one operator, whose inputs and output have plain names."""

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor


def addition(names: str = "abc") -> bytes:
    """c = a + b over [1, 3, 5, 7], by other names if any are given."""
    a, b, c = (Tensor(name, (1, 3, 5, 7)) for name in names)
    graph = Graph("addition")
    graph.add(Op("ADD", (a, b), (c,), {"fused_activation_function": "NONE"}))
    graph.inputs, graph.input_names = [a, b], [a.name, b.name]
    graph.outputs, graph.output_names = [c], [c.name]
    return write(graph)
