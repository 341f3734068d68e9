"""A model of one operator, whose inputs and output have plain names."""

from __future__ import annotations

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor


def addition() -> bytes:
    """c = a + b over [1, 3, 5, 7]."""
    a, b, c = (Tensor(name, (1, 3, 5, 7)) for name in "abc")
    graph = Graph("addition")
    graph.add(Op("ADD", (a, b), (c,), {"fused_activation_function": "NONE"}))
    graph.inputs, graph.input_names = [a, b], ["a", "b"]
    graph.outputs, graph.output_names = [c], ["c"]
    return write(graph)
