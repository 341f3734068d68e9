"""The model file of a part that runs on LiteRT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from ..errors import ModelError
from ..frontend.writer import write
from ..ir import Graph, Op, Tensor
from ..tflite_schema import refers_to_subgraph


def part_inputs(graph: Graph, op: Op) -> list[Tensor]:
    """The inputs of a part: the tensors it reads, except constants and its own variables."""
    read = dict.fromkeys(op.reads)
    return [t for t in read if not t.constant and (not t.variable or t in graph.inputs)]


def part_file(graph: Graph, op: Op) -> bytes:
    """The model file of a part.

    ModelError for an invalid quantization scale, PassError for options that TFLite lacks.
    """
    part = Graph(f"part {op.index}")
    for inner in op.core:
        part.add(inner)
    part.inputs = part_inputs(graph, op)
    part.input_names = [tensor.name for tensor in part.inputs]
    part.outputs = list(op.outputs)
    part.output_names = [tensor.name for tensor in part.outputs]
    part.subgraphs = _referred(op.core, graph.subgraphs)
    for tensor in part.tensors:
        if tensor.quantization and not all(0 <= s < inf for s in tensor.quantization.scale):
            # LiteRT would abort the process.
            raise ModelError(
                f"tensor {tensor.name} has the invalid quantization scale "
                f"{tensor.quantization.scale}"
            )
    return write(part)


def _referred(ops: Iterable[Op], subgraphs: Mapping[int, Graph]) -> dict[int, Graph]:
    """The subgraphs that operators refer to, directly or through one another."""
    found: dict[int, Graph] = {}
    waiting = list(ops)
    while waiting:
        for key, index in waiting.pop().attrs.items():
            if refers_to_subgraph(key) and index not in found:
                found[index] = subgraphs[index]
                waiting += subgraphs[index].ops
    return dict(sorted(found.items()))
