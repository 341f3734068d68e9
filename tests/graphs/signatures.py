"""Models with several signatures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Shape, Tensor, constant

from .draws import drawn

SHAPE = (1, 5, 7, 3)

ROWS, WIDTH = 8, 6  # Rows of the cache of `cached`, and numbers in each.


@dataclass(frozen=True)
class Entry:
    """A signature: its graph, and names for positions among its inputs and outputs."""

    graph: Graph
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def signed(entries: Mapping[str, Entry]) -> bytes:
    """A model with these signatures, by their keys.

    Subgraphs that they call are numbered after their own.
    """
    first, *others = (entry.graph for entry in entries.values())
    called = {n: graph for each in (first, *others) for n, graph in each.subgraphs.items()}
    first.subgraphs = {**dict(enumerate(others, 1)), **called}
    model = schema.ModelT.InitFromPackedBuf(write(first), 0)
    model.signatureDefs = []
    for number, (key, entry) in enumerate(entries.items()):
        table, signature = model.subgraphs[number], schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = key.encode(), number
        signature.inputs = _named(entry.inputs, table.inputs)
        signature.outputs = _named(entry.outputs, table.outputs)
        model.signatureDefs.append(signature)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _named(names: Mapping[str, int], indices: list[int]) -> list[Any]:
    found = []
    for name, position in names.items():
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = name.encode(), indices[position]
        found.append(entry)
    return found


def two_signatures() -> bytes:
    """`far` is |left - right|, `near` is exp of it; both also give the difference."""
    inputs = {"right": 1, "left": 0}
    return signed(
        {
            key: Entry(_difference(operator), inputs, {key: 1, "difference": 0})
            for key, operator in (("far", "ABS"), ("near", "EXP"))
        }
    )


def _difference(operator: str) -> Graph:
    """difference = left - right, and `operator` of it."""
    graph = Graph(operator)
    left, right, middle, result = (Tensor(name, SHAPE) for name in ("l", "r", "m", "y"))
    graph.add(Op("SUB", (left, right), (middle,), {}, 0))
    graph.add(Op(operator, (middle,), (result,), {}, 1))
    graph.inputs, graph.input_names = [left, right], ["l", "r"]
    graph.outputs, graph.output_names = [middle, result], ["m", "y"]
    return graph


def cached() -> bytes:
    """`prefill` writes four rows into a cache and `decode` one, each at `start`.

    Both also give the products of the rows with all rows of the cache.
    """
    names = {"x": 0, "start": 1, "cache": 2}, {"cache": 0, "scores": 1}
    return signed({"prefill": Entry(_update(4), *names), "decode": Entry(_update(1), *names)})


def _update(rows: int) -> Graph:
    """cache = its rows from `start` on replaced by x * weights, and x * weights times the cache."""
    graph = Graph(f"update{rows}")
    shape: Shape = (1, rows, WIDTH)
    x, start, cache = (
        Tensor("x", shape),
        Tensor("start", (3,), "int32"),
        Tensor("c", (1, ROWS, WIDTH)),
    )
    key, after = Tensor("key", shape), Tensor("after", cache.shape)
    scores = Tensor("scores", (1, rows, ROWS))
    weights = constant("weights", drawn("weights", (WIDTH, WIDTH)))
    attrs = {"keep_num_dims": True}
    graph.add(Op("FULLY_CONNECTED", (x, weights, None), (key,), attrs, 0))
    graph.add(Op("DYNAMIC_UPDATE_SLICE", (cache, key, start), (after,), {}, 1))
    graph.add(Op("BATCH_MATMUL", (key, after), (scores,), {"adj_y": True}, 2))
    graph.inputs, graph.input_names = [x, start, cache], ["x", "start", "c"]
    graph.outputs, graph.output_names = [after, scores], ["after", "scores"]
    return graph


def noted(starts: Mapping[str, float | None] | None = None) -> bytes:
    """`note` writes x into a variable; both it and `recall` give its content plus x.

    `starts` are the numbers that a signature fills the variable with once.
    """
    names = {"x": 0}
    starts = starts or {}
    graphs = {key: _noting(key, starts.get(key)) for key in ("note", "recall")}
    return signed({key: Entry(graph, names, {"y": 0}) for key, graph in graphs.items()})


def _noting(key: str, start: float | None) -> Graph:
    graph, handles = Graph(key), [Tensor(f"handle{i}", (), "resource") for i in range(2)]
    given, read, result = (Tensor(name, SHAPE) for name in ("x", "read", "y"))
    names = {"container": "", "shared_name": "v"}
    if start is not None:
        once = Graph("once")
        once.add(Op("VAR_HANDLE", (), (handles[1],), dict(names), 0))
        value = constant("start", np.full(SHAPE, start, np.float32))
        once.add(Op("ASSIGN_VARIABLE", (handles[1], value), (), {}, 1))
        number = 2 + (key == "recall")
        graph.subgraphs = {number: once}
        graph.add(Op("CALL_ONCE", (), (), {"init_subgraph_index": number}, 0))
    graph.add(Op("VAR_HANDLE", (), (handles[0],), names, 1))
    if key == "note":
        graph.add(Op("ASSIGN_VARIABLE", (handles[0], given), (), {}, 2))
    graph.add(Op("READ_VARIABLE", (handles[0],), (read,), {}, 3))
    graph.add(Op("ADD", (read, given), (result,), {}, 4))
    graph.inputs, graph.input_names = [given], ["x"]
    graph.outputs, graph.output_names = [result], ["y"]
    return graph
