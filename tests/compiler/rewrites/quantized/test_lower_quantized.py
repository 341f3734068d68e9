"""Conversions at the ends of quantized operators, and what is left of them between two."""

from graphs.operators import graph_of

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.target import Target


def int8(name: str, scale: float, zero: int) -> Tensor:
    return Tensor(name, (3, 5), "int8", quantization=Quantization((scale,), (zero,)))


def chain(*, middle_is_output: bool = False) -> Graph:
    """z = LOGISTIC(TANH(x))."""
    x, y, z = int8("x", 0.05, 3), int8("y", 1 / 128, 0), int8("z", 1 / 256, -128)
    outputs = [y, z] if middle_is_output else [z]
    graph = graph_of(Op("TANH", (x,), (y,)), Op("LOGISTIC", (y,), (z,)), outputs=outputs)
    lower_quantized(graph, Target(profile("cpu")))
    return graph


def test_centered_integers_flow_between_two_operators() -> None:
    graph = chain()
    names = ["tflgpu.to_centered", "tflgpu.look_up", "tflgpu.look_up", "tflgpu.from_centered"]
    assert [op.name for op in graph.ops] == names
    assert graph.outputs[0].dtype == "int8"
    assert graph.ops[1].output.dtype == "float32"


def test_an_output_between_them_is_an_integer_still() -> None:
    graph = chain(middle_is_output=True)
    names = [op.name for op in graph.ops]
    assert names.count("tflgpu.from_centered") == 2 and names.count("tflgpu.to_centered") == 1
    assert [tensor.dtype for tensor in graph.outputs] == ["int8", "int8"]


def test_operators_on_floats_stay() -> None:
    op = Op("TANH", (Tensor("x", (3, 5)),), (Tensor("y", (3, 5)),))
    graph = graph_of(op)
    assert lower_quantized(graph, Target(profile("cpu"))) == []
    assert graph.ops == [op]
