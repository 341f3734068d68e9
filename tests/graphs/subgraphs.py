"""Graphs of operators made by hand, such as the bodies of loops."""

from collections.abc import Sequence

import numpy as np

from tflgpu.compiler.ir import Graph, Op, Tensor, constant


def subgraph(inputs: Sequence[Tensor], ops: Sequence[Op], outputs: Sequence[Tensor]) -> Graph:
    """The operators, numbered in this order."""
    graph = Graph()
    for index, op in enumerate(ops):
        op.index = index
        graph.add(op)
    graph.inputs, graph.outputs = list(inputs), list(outputs)
    graph.input_names = [tensor.name for tensor in inputs]
    graph.output_names = [tensor.name for tensor in outputs]
    return graph


def number(name: str, value: int) -> Tensor:
    """A constant int32 of rank 0."""
    return constant(name, np.array(value, np.int32))
