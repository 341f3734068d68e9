"""Subgraphs written out where an operator calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .graph import Graph, Op, Tensor


def inline(graph: Graph, called: Graph, inputs: Sequence[Tensor], index: int) -> list[Tensor]:
    """Add copies of a subgraph's operators to a graph; its outputs for those inputs.

    `index` is the position in the model file of the operator that calls it.
    """
    copies = dict(zip(called.inputs, inputs, strict=True))

    def copied(tensor: Tensor) -> Tensor:
        if tensor not in copies:
            kept = tensor.constant or tensor.variable
            copies[tensor] = tensor if kept else replace(tensor)
        return copies[tensor]

    for op in called.ops:
        operands = tuple(None if tensor is None else copied(tensor) for tensor in op.inputs)
        results = tuple(copied(tensor) for tensor in op.outputs)
        graph.add(Op(op.name, operands, results, dict(op.attrs), index, op.version))
    return [copied(tensor) for tensor in called.outputs]


def substitute(graph: Graph, op: Op, results: Sequence[Tensor]) -> None:
    """Let tensors take the place of an operator's outputs, and remove it."""
    outputs = op.outputs
    for old, new in zip(outputs, results, strict=True):
        graph.replace(old, new)
    graph.remove(op)
    for old, new in zip(outputs, results, strict=True):
        if graph.producer(new) is not None:
            new.name = old.name
