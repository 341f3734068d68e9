"""Graphs of operators made by hand: custom ones, quantized ones, the bodies of loops."""

from collections.abc import Sequence

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant


def graph_of(
    *ops: Op,
    inputs: Sequence[Tensor] | None = None,
    outputs: Sequence[Tensor] | None = None,
    subgraphs: Sequence[Graph] = (),
) -> Graph:
    """The graph of these operators, numbered in this order, with subgraphs that count from 1.

    By default its inputs are what none of them computes and no constant or variable is, and its
    outputs what none of them reads.
    """
    graph = Graph()
    for index, op in enumerate(ops):
        op.index = index
        graph.add(op)
    read = dict.fromkeys(tensor for op in ops for tensor in op.reads)
    computed = dict.fromkeys(tensor for op in ops for tensor in op.outputs)
    given = [each for each in read if not (each in computed or each.constant or each.variable)]
    graph.inputs = given if inputs is None else [*inputs]
    graph.outputs = [t for t in computed if t not in read] if outputs is None else [*outputs]
    graph.input_names = [tensor.name for tensor in graph.inputs]
    graph.output_names = [tensor.name for tensor in graph.outputs]
    graph.subgraphs = dict(enumerate(subgraphs, start=1))
    return graph


def file_of(
    *ops: Op, inputs: Sequence[Tensor] | None = None, outputs: Sequence[Tensor] | None = None
) -> bytes:
    """The .tflite file of `graph_of`."""
    return write(graph_of(*ops, inputs=inputs, outputs=outputs))


def number(name: str, value: int) -> Tensor:
    """A constant int32 of rank 0."""
    return constant(name, np.array(value, np.int32))
