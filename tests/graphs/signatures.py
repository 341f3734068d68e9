"""A model with two signatures."""

from __future__ import annotations

from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor

SHAPE = (1, 5, 7, 3)


def subgraph(operator: str) -> Graph:
    """difference = left - right, and `operator` of it."""
    graph = Graph(operator)
    left, right, middle, result = (Tensor(name, SHAPE) for name in ("l", "r", "m", "y"))
    graph.add(Op("SUB", (left, right), (middle,), {}, 0))
    graph.add(Op(operator, (middle,), (result,), {}, 1))
    graph.inputs, graph.input_names = [left, right], ["l", "r"]
    graph.outputs, graph.output_names = [middle, result], ["m", "y"]
    return graph


def entries(names: dict[str, int]) -> list[Any]:
    found = []
    for name, index in names.items():
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = name.encode(), index
        found.append(entry)
    return found


def two_signatures() -> bytes:
    """`far` is |left - right|, `near` is exp of it; both also give the difference."""
    whole = subgraph("ABS")
    whole.subgraphs = {1: subgraph("EXP")}
    model = schema.ModelT.InitFromPackedBuf(write(whole), 0)
    model.signatureDefs = []
    for number, key in enumerate(("far", "near")):
        table = model.subgraphs[number]
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = key.encode(), number
        signature.inputs = entries({"right": table.inputs[1], "left": table.inputs[0]})
        signature.outputs = entries({key: table.outputs[1], "difference": table.outputs[0]})
        model.signatureDefs.append(signature)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
