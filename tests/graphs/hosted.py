"""Models in part on LiteRT: some operators are chosen, or a run alone tells their shapes."""

from collections.abc import Sequence

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant

from .operators import file_of, graph_of

# Names of the outputs, separated by blanks; of the inputs; of the operator.
Line = tuple[str, Sequence[str], str]

SHAPE = (1, 5, 7, 11)


def elementwise(lines: Sequence[Line], outputs: Sequence[str], **dtypes: str) -> Graph:
    """A graph of elementwise operators on float32 tensors of one shape, `x` its input."""
    names = ["x", *(name for results, _, _ in lines for name in results.split())]
    tensors = {name: Tensor(name, SHAPE, dtypes.get(name, "float32")) for name in names}
    ops = (
        Op(name, [tensors[each] for each in read], [tensors[each] for each in results.split()])
        for results, read, name in lines
    )
    return graph_of(*ops, inputs=[tensors["x"]], outputs=[tensors[name] for name in outputs])


CHAIN: list[Line] = [
    ("a", "x", "TANH"),
    ("b", "a", "ABS"),
    ("c", "b", "NEG"),
    ("d", "c", "COS"),
    ("e", "d", "EXP"),
]


def crossing() -> bytes:
    """Kernels and elementwise operators in turns, where parts of a whole lie between."""
    graph = elementwise([*CHAIN, ("f", "eb", "MUL")], ["f", "d"])
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
    x, k = Tensor("x", (5, 13)), Tensor("k", (), "int32")
    n, v, y = Tensor("n", (5, 13)), Tensor("v", (5, 1)), Tensor("y", (5, 1))
    i = Tensor("i", (5, 1), "int32")
    ops = Op("NEG", (x,), (n,)), Op("TOPK_V2", (n, k), (v, i)), Op("ABS", (v,), (y,))
    return file_of(*ops, outputs=[y, i])
