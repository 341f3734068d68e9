"""Models in part on LiteRT: some operators are chosen, or a run alone tells their shapes."""

from collections.abc import Sequence

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant

Line = tuple[str, Sequence[str], str]
"""Names of the outputs, separated by blanks; of the inputs; of the operator."""


SHAPE = (1, 5, 7, 11)


def graph_of(lines: Sequence[Line], outputs: Sequence[str], **dtypes: str) -> Graph:
    """A graph of elementwise operators on float32 tensors of one shape, `x` its input."""
    graph = Graph()
    tensors = {"x": Tensor("x", SHAPE, dtypes.get("x", "float32"))}
    for index, (results, operands, name) in enumerate(lines):
        for result in results.split():
            tensors[result] = Tensor(result, SHAPE, dtypes.get(result, "float32"))
        written = tuple(tensors[result] for result in results.split())
        graph.add(Op(name, tuple(tensors[item] for item in operands), written, {}, index))
    graph.inputs, graph.input_names = [tensors["x"]], ["x"]
    graph.outputs = [tensors[name] for name in outputs]
    graph.output_names = list(outputs)
    return graph


CHAIN: list[Line] = [
    ("a", "x", "TANH"),
    ("b", "a", "ABS"),
    ("c", "b", "NEG"),
    ("d", "c", "COS"),
    ("e", "d", "EXP"),
]


def crossing() -> bytes:
    """Kernels and elementwise operators in turns, where parts of a whole lie between."""
    graph = graph_of([*CHAIN, ("f", "eb", "MUL")], ["f", "d"])
    weights = constant(
        "weights", np.random.default_rng(5).standard_normal((3, 1, 1, 11)).astype(np.float32)
    )
    wide = (1, 5, 7, 14)
    conv, joined, last = Tensor("conv", (1, 5, 7, 3)), Tensor("joined", wide), Tensor("y", wide)
    attrs = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    dilation = {"dilation_w_factor": 1, "dilation_h_factor": 1}
    bias = constant("bias", np.array([0.5, -1, 2], np.float32))
    graph.add(Op("CONV_2D", (graph.outputs[0], weights, bias), (conv,), attrs | dilation, 6))
    graph.add(Op("CONCATENATION", (graph.outputs[0], conv), (joined,), {"axis": 3}, 7))
    graph.add(Op("RELU", (joined,), (last,), {}, 8))
    graph.outputs.append(last)
    graph.output_names.append("y")
    return write(graph)


def searching() -> bytes:
    """y = ADD(TOPK_V2(NEG(x), k)) with k of the run: what follows has no known shape."""
    graph = Graph()
    x, k = Tensor("x", (5, 13)), Tensor("k", (), "int32")
    n, v, i, y = Tensor("n", (5, 13)), Tensor("v", (5, 1)), Tensor("i", (5, 1)), Tensor("y", (5, 1))
    i.dtype = "int32"
    graph.add(Op("NEG", (x,), (n,), {}, 0))
    graph.add(Op("TOPK_V2", (n, k), (v, i), {}, 1))
    graph.add(Op("ABS", (v,), (y,), {}, 2))
    graph.inputs, graph.input_names = [x, k], ["x", "k"]
    graph.outputs, graph.output_names = [y, i], ["y", "i"]
    return write(graph)
