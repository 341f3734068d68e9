"""Model files altered through LiteRT's own view of them."""

from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant

Change = Callable[[Any], Any]


def chain() -> Graph:
    """x -> CONV_2D -> y -> SOFTMAX -> z, of prime sizes."""
    random = np.random.default_rng(5)
    graph = Graph("chain")
    x, y, z = (Tensor(n, (1, 5, 7, c)) for n, c in (("x", 3), ("y", 11), ("z", 11)))
    weights = constant("weights", random.standard_normal((11, 3, 3, 3)).astype(np.float32))
    attrs = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "dilation_h_factor": 2}
    graph.add(Op("CONV_2D", (x, weights, None), (y,), {**attrs, "dilation_w_factor": 1}))
    graph.add(Op("SOFTMAX", (y,), (z,), {"beta": 0.5}, 1))
    graph.inputs, graph.outputs = [x], [z]
    graph.input_names, graph.output_names = ["x"], ["z"]
    return graph


def altered(change: Change, graph: Graph | None = None) -> bytes:
    """The bytes of a graph after `change` has worked on LiteRT's view of the whole model."""
    model = schema.ModelT.InitFromPackedBuf(write(graph or chain()), 0)
    change(model)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def tensor(model: Any, name: str) -> Any:
    return next(t for t in model.subgraphs[0].tensors if t.name == name.encode())


def buffer_of(model: Any, name: str) -> Any:
    return model.buffers[tensor(model, name).buffer]
