"""Graphs written as .tflite: LiteRT runs them, and reading them gives the same graph."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from graphs.operators import file_of, graph_of
from numpy.typing import NDArray

from tflgpu.compiler.errors import ModelError, PassError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Blocks, Graph, Op, Quantization, Tensor, constant, fuse
from tflgpu.compiler.tflite_schema import OPERATORS, option_table_of

Array = NDArray[Any]


def convolution(random: np.random.Generator) -> Graph:
    """One CONV_2D with bias and activation over prime sizes."""
    graph = Graph("prime")
    x = Tensor("x", (1, 5, 7, 3))
    y = Tensor("y", (1, 5, 7, 11))
    weights = constant("weights", random.standard_normal((11, 3, 3, 3)).astype(np.float32))
    bias = constant("bias", random.standard_normal(11).astype(np.float32))
    attrs = {
        "padding": "SAME",
        "stride_w": 1,
        "stride_h": 1,
        "dilation_w_factor": 1,
        "dilation_h_factor": 1,
        "fused_activation_function": "RELU",
    }
    graph.add(Op("CONV_2D", (x, weights, bias), (y,), attrs))
    graph.inputs, graph.outputs = [x], [y]
    graph.input_names, graph.output_names = ["x"], ["y"]
    return graph


def run(model: bytes, seed: int = 7) -> dict[str, Array]:
    """LiteRT's outputs of a model, its inputs drawn from a seed."""
    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    random = np.random.default_rng(seed)
    for detail in interpreter.get_input_details():
        value = random.uniform(1, 3, detail["shape"]).astype(detail["dtype"])
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return {d["name"]: interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()}


def graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    yield from graph.subgraphs.values()


def assert_same(first: Graph, second: Graph) -> None:
    """Equal text, tensors and constants."""
    for one, other in zip(graphs(first), graphs(second), strict=True):
        assert str(one) == str(other)
        assert (one.name, one.input_names) == (other.name, other.input_names)
        assert one.output_names == other.output_names
        for left, right in zip(one.ops, other.ops, strict=True):
            assert (left.index, left.version) == (right.index, right.version)
            tensors = zip(operands(left), operands(right), strict=True)
            for a, b in tensors:
                assert described(a) == described(b)
                if a.data is not None:
                    assert b.data is not None and a.data.dtype == b.data.dtype
                    np.testing.assert_array_equal(a.data, b.data)


def operands(op: Op) -> list[Tensor]:
    return [*(t for t in op.inputs if t is not None), *op.outputs, *op.intermediates]


def described(tensor: Tensor) -> tuple[Any, ...]:
    found = tensor.blocks
    zeros = found and found.zero_points
    blocks = found and (found.size, found.scales.name, zeros and zeros.name)
    quantization = tensor.quantization
    return (tensor.name, tensor.shape, tensor.dtype, quantization, tensor.variable, blocks)


def test_litert_runs_a_written_convolution() -> None:
    graph = convolution(np.random.default_rng(3))
    (y,) = run(write(graph)).values()
    x = np.random.default_rng(7).uniform(1, 3, (1, 5, 7, 3)).astype(np.float32)
    weights, bias = (graph.ops[0].constant(position) for position in (1, 2))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = np.maximum(np.einsum("bhwcyx,oyxc->bhwo", windows, weights) + bias, 0)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_the_same_graph_gives_the_same_bytes() -> None:
    first, second = (write(convolution(np.random.default_rng(3))) for _ in range(2))
    assert first == second


def test_buffers_are_aligned() -> None:
    graph = convolution(np.random.default_rng(3))
    model = write(graph)
    for position in (1, 2):
        assert model.index(graph.ops[0].constant(position).tobytes()) % 16 == 0


@pytest.mark.parametrize(
    "dtype, values",
    [
        ("int4", np.array([-8, -3, 7, 1, 5], np.int8)),
        ("uint4", np.array([15, 2, 7, 1, 9], np.uint8)),
        ("int2", np.array([-2, 1, -1, 0, 1], np.int8)),
        ("bfloat16", np.array([1.5, -2.0, 3.25, 1024, -0.125], np.float32)),
        ("float16", np.array([1.5, -2.1, 3.3, 1e4, -0.1], np.float16)),
        ("bool", np.array([True, False, True, True, False])),
        ("complex64", np.array([1 + 2j, -3j, 5, 7 - 1j, 2], np.complex64)),
        ("int64", np.array([2**40, -3, 5, 7, 11], np.int64)),
        ("string", np.array([b"one", b"", b"\xff\x00three", b"5", b"eleven"], object)),
    ],
)
def test_constants_of_every_kind_come_back(dtype: str, values: Array) -> None:
    given, y = Tensor("c", (5,), dtype, values), Tensor("y", (5,), dtype)
    again = read(file_of(Op("IDENTITY_OF_MINE", (given,), (y,)))).ops[0].constant(0)
    np.testing.assert_array_equal(again, values)
    assert again.dtype == values.dtype


def test_everything_about_a_tensor_comes_back() -> None:
    x = Tensor("x", (2, 3), "int8", quantization=Quantization((0.5,), (-7,)))
    state = Tensor("state", (3,), variable=True)
    channels = Quantization((0.25, 2.0, 0.125), (0, 0, 0), 1)
    weights = Tensor("w", (2, 3), "int8", np.arange(6, dtype=np.int8).reshape(2, 3), channels)
    y = Tensor("y", (), "float32")
    open_batch = Tensor("z", (1, 5), signature=(-1, 5))
    scales = constant("scales", np.array([[1, 2], [3, 4]], np.float16))
    zeros = constant("zeros", np.array([[1, 0], [0, 2]], np.int8))
    blocks = (Blocks(2, scales, None), Blocks(2, scales, zeros))
    tables = [
        Tensor(f"table{n}", (2, 4), "int4", np.arange(-4, 4, dtype="b").reshape(2, 4), blocks=each)
        for n, each in enumerate(blocks)
    ]
    inputs = (x, None, state, weights, *tables)
    op = Op("Mine", inputs, (y, open_batch), {"custom_options": b"\x01\x02"})
    op.version = 3
    graph = graph_of(op)
    again = read(write(graph))
    assert_same(graph, again)
    assert again.ops[0].inputs[1] is None
    assert again.outputs[1].signature == (-1, 5)
    assert again.ops[0].attrs["custom_options"] == b"\x01\x02"


@pytest.mark.parametrize(
    "name, table",
    [
        ("CONV_2D", "Conv2DOptions"),
        ("MINIMUM", "MaximumMinimumOptions"),
        ("L2_POOL_2D", "Pool2DOptions"),
        ("REDUCE_MAX", "ReducerOptions"),
        ("BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions"),
        ("STABLEHLO_PAD", "StablehloPadOptions"),
        ("PRELU", None),
    ],
)
def test_option_tables_are_found_by_name(name: str, table: str | None) -> None:
    found = option_table_of(name)
    assert (found and found.name) == table


def test_operators_without_an_option_table_are_few() -> None:
    """Those that truly have none in the schema; a new operator with an odd name shows up here."""
    without = {n for n in OPERATORS.values() if option_table_of(n) is None}
    assert without & {"CONV_2D", "SUM", "CONV_3D_TRANSPOSE", "TOPK_V2", "RFFT2D"} == set()
    assert {"RELU", "PRELU", "FLOOR", "LOGISTIC", "HASHTABLE_LOOKUP"} <= without
    assert len([n for n in without if not n.startswith("STABLEHLO")]) <= 29


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": "tflgpu.convert"}, "TFLite has no operator for 0 tflgpu.convert"),
        ({"attrs": {"pads": (1, 1)}}, "TFLite's CONV_2D has no option pads"),
        ({"attrs": {"padding": "sometimes"}}, "TFLite has no padding called sometimes"),
        ({"name": "WHILE", "attrs": {"body_subgraph_index": 3}}, "the graph has no subgraph 3"),
    ],
)
def test_what_tflite_cannot_say_is_refused(change: dict[str, Any], message: str) -> None:
    graph = convolution(np.random.default_rng(3))
    for name, value in change.items():
        setattr(graph.ops[0], name, value)
    with pytest.raises(PassError, match=message):
        write(graph)


def test_fused_operators_are_refused() -> None:
    graph = convolution(np.random.default_rng(3))
    (conv,) = graph.ops
    relu = Op("RELU", (conv.output,), (Tensor("z", conv.output.shape),), {})
    graph.remove(conv)
    graph.add(fuse(conv, relu))
    with pytest.raises(PassError, match="TFLite has no operator for 0 CONV_2D"):
        write(graph)


def test_real_models_come_back_the_same(models: Path) -> None:
    for path in sorted((*models.glob("networks/**/*.tflite"), *models.glob("ops/**/*.tflite"))):
        try:
            graph = read(path)
        except ModelError:
            continue
        if graph.subgraphs:
            # Those nothing refers to are left behind; what is left is numbered anew, once.
            graph = read(write(graph))
        assert_same(graph, read(write(graph)))


@pytest.mark.parametrize(
    "name",
    [
        "networks/audio/model_1.tflite",
        "networks/deeplab_v3/deeplabv3.tflite",
        "ops/ops_litert/qwen_fc_blockwise_quantized.tflite",
    ],
)
def test_litert_computes_the_same_from_a_real_model_written_anew(models: Path, name: str) -> None:
    path = models / name
    expected = run(path.read_bytes())
    found = run(write(read(path)))
    assert list(found) == list(expected)
    for output, value in expected.items():
        np.testing.assert_array_equal(found[output], value)
