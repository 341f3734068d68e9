"""What the device cannot run is cut out of a model and runs on LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference
from devices import Way
from graphs import Input, Value, call, ints, model, quantized, typed, w, x, xi, xq
from graphs.hosted import crossing, searching
from graphs.operators import file_of
from numpy.typing import NDArray

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.emit.compiled_model import CompiledModel
from tflgpu.compiler.errors import FallbackWarning, Finding, OptionError, UnsupportedError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Op, Quantization, Tensor, constant
from tflgpu.compiler.litert.fallback import fall_back
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.errors import InputError

pytestmark = pytest.mark.usefixtures("free_exchange")

Array = NDArray[Any]
STEP = Quantization((0.05,), (3,))


def drawn(content: bytes, seed: int = 3) -> list[Array]:
    random = np.random.default_rng(seed)
    return [
        random.standard_normal(tensor.shape).astype(tensor.dtype) for tensor in read(content).inputs
    ]


def agrees(content: bytes, way: Way, cache: Path, runs: int = 1, **options: Any) -> CompiledModel:
    """Compile and run a model; its outputs must be LiteRT's, run after run."""
    chosen = Options(target=way.target, device=way.profile, **options)
    program = pipeline.build(content, chosen)
    reference = Reference(content)
    with tflgpu.load(pipeline.write(program, cache), device=way.device) as session:
        for seed in range(runs):
            session.poison()
            arrays = drawn(content, seed)
            results = session.run(arrays).values()
            for result, expected in zip(results, reference.run(arrays), strict=True):
                assert not difference(result, expected)
    return program


@pytest.mark.parametrize("names", [("COS", "MUL", "CONV_2D"), (0, 2, 8), tuple(range(9))])
def test_parts_and_kernels_in_turns(names: Any, way: Way, tmp_path: Path) -> None:
    program = agrees(crossing(), way, tmp_path, runs=2, fallback_ops=names)
    assert [item["operator"] for item in program.report["fallback"]]
    if len(names) == 9:
        assert not program.plan.dispatches and len(program.plan.parts) == 1
        assert all(tensor.place is None for tensor in program.plan.host_tensors)


def test_a_part_reads_integers_that_a_slice_of_floats_is_stored_as(
    way: Way, tmp_path: Path
) -> None:
    like: dict[str, Any] = {"dtype": "int8", "scale": 1 / 128, "zero": 0}
    rows = quantized("TANH", xq(3, 37, zero=-7), **like)
    part = call("DEQUANTIZE", quantized("SLICE", rows, ints(0, 0), ints(2, 37), **like))
    agrees(model({"y": part}).content, way, tmp_path, fallback_ops=("DEQUANTIZE",))


def test_a_part_reads_integers_that_are_narrower_on_the_device(way: Way, tmp_path: Path) -> None:
    one, other = (xi(2, 3, dtype="int64") for _ in range(2))
    part = typed("int64", "MUL", typed("int64", "ADD", one, other), other)
    agrees(model({"y": part}).content, way, tmp_path, fallback_ops=("MUL",))


def test_a_part_may_read_more_tensors_than_a_kernel(way: Way, tmp_path: Path) -> None:
    """The least that profiles allow are 8 buffers; a part has none on the device of its own."""
    inputs = [x(2, 3, n) for n in range(1, 33)]
    read: list[Value] = [*inputs[9:], *(call("ABS", each) for each in inputs[:9])]
    joined = call("CONCATENATION", *read, axis=2)
    content = model({"y": call("NEG", joined)}).content
    program = agrees(content, way, tmp_path, fallback_ops=("CONCATENATION",))
    assert [item["operator"] for item in program.report["fallback"]] == ["CONCATENATION"]


def test_integers_cross_between_parts_and_kernels(way: Way, tmp_path: Path) -> None:
    """A part that ends in int8, then kernels that only move it."""
    x = Tensor("x", (1, 5, 7, 11))
    q, r = (Tensor(name, x.shape, "int8", quantization=STEP) for name in "qr")
    p = Tensor("p", (1, 11, 5, 7), "int8", quantization=STEP)
    y = Tensor("y", p.shape)
    order = constant("order", np.array([0, 3, 1, 2], np.int32))
    content = file_of(
        *(Op("QUANTIZE", (x,), (q,)), Op("RELU", (q,), (r,))),
        *(Op("TRANSPOSE", (r, order), (p,)), Op("DEQUANTIZE", (p,), (y,))),
    )
    program = agrees(content, way, tmp_path, fallback_ops=("QUANTIZE", "RELU"))
    assert program.plan.parts[0].label == "QUANTIZE + RELU"


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_numbers_of_rank_0_cross_between_parts_and_kernels(
    dtype: str, way: Way, tmp_path: Path
) -> None:
    operand = Input((5, 7), "small", dtype)
    least = typed(dtype, "REDUCE_MIN", operand, ints(0, 1), keep_dims=False)
    content = model({"y": [typed(dtype, "SUB", operand, least), least]}).content
    program = agrees(content, way, tmp_path, fallback_ops=("REDUCE_MIN",))
    assert program.plan.parts[0].label == "REDUCE_MIN"


def test_shapes_that_only_a_run_tells(way: Way, tmp_path: Path) -> None:
    program = pipeline.build(searching(), Options(target=way.target, device=way.profile))
    (part,) = program.plan.parts
    assert part.label == "TOPK_V2 + ABS"
    assert [info.dynamic for info in program.plan.outputs] == [True, True]
    (x, _) = drawn(searching())
    with tflgpu.load(pipeline.write(program, tmp_path), device=way.device) as session:
        for k in (3, 1, 0, 7):
            result = session.run({"x": x, "k": np.int32(k)})
            np.testing.assert_array_equal(result["y"], np.abs(np.sort(-x)[:, ::-1][:, :k]))
            assert result["i"].shape == (5, k)


def recurrent() -> bytes:
    """y = SVDF(x), which keeps what it has seen."""
    random = np.random.default_rng(7)
    x, y = Tensor("x", (2, 3)), Tensor("y", (2, 5))
    features = constant("features", random.standard_normal((5, 3)).astype(np.float32))
    times = constant("times", random.standard_normal((5, 4)).astype(np.float32))
    state = Tensor("state", (2, 20), variable=True)
    return file_of(Op("SVDF", (x, features, times, None, state), (y,), {"rank": 1}))


def test_a_part_keeps_its_state_until_it_is_reset(way: Way, tmp_path: Path) -> None:
    content = recurrent()
    program = agrees(content, way, tmp_path, runs=3, fallback_ops=("SVDF",))
    assert not program.plan.variables
    (x,) = drawn(content)
    with tflgpu.load(tmp_path, device=way.device) as session:
        first, second = session.run(x)["y"], session.run(x)["y"]
        assert np.abs(first - second).max() > 1e-3
        session.reset()
        np.testing.assert_array_equal(session.run(x)["y"], first)


def test_strings_go_in_and_come_out(tmp_path: Path) -> None:
    x, y = Tensor("x", (3,), "string"), Tensor("y", (1, 3), "string")
    shape = constant("shape", np.array([1, 3], np.int32))
    with pytest.warns(FallbackWarning, match="operator 0 RESHAPE"):
        folder = tflgpu.compile(file_of(Op("RESHAPE", (x, shape), (y,))), tmp_path)
    with tflgpu.load(folder) as session:
        result = session.run({"x": ["one", b"two", "dr\N{GREEK SMALL LETTER EPSILON}i"]})["y"]
        assert result.tolist() == [[b"one", b"two", "dr\N{GREEK SMALL LETTER EPSILON}i".encode()]]
        with pytest.raises(InputError, match="got int"):
            session.run({"x": np.array(["one", "two", 3], object)})
        with pytest.raises(InputError, match=r"expected string of shape \[3\]"):
            session.run({"x": ["one"]})


@pytest.mark.parametrize("keeps", [False, True])
def test_layers_without_input_channels(way: Way, tmp_path: Path, keeps: bool) -> None:
    """Zeros, as LiteRT finds."""
    layer = call("FULLY_CONNECTED", x(3, 2, 0), w(4, 0), w(4), keep_num_dims=keeps)
    program = agrees(model({"y": layer}).content, way, tmp_path)
    assert program.plan.outputs[0].shape == ((3, 2, 4) if keeps else (6, 4))
    assert not program.plan.parts


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_what_neither_can_run_is_refused(dtype: str) -> None:
    """LiteRT's FAKE_QUANT takes every type for float32."""
    value = typed(dtype, "FAKE_QUANT", Input((2, 3), dtype=dtype), min=-1.0, max=1.0, num_bits=8)
    with pytest.raises(UnsupportedError, match=f"FAKE_QUANT: .* but LiteRT writes {dtype} as"):
        pipeline.build(model({"y": value}).content, Options())


def test_all_that_neither_can_run_is_refused_at_once() -> None:
    def compared(a: Value) -> Value:
        order = {"comparison_direction": "STABLEHLO_COMPARISON_DIRECTION_LT"}
        total = {"compare_type": "STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER"}
        return typed("bool", "STABLEHLO_COMPARE", a, x(2, 3), **order, **total)

    first = compared(x(2, 3))
    second = compared(call("SELECT", first, call("TANH", x(2, 3)), x(2, 3)))
    with pytest.raises(UnsupportedError) as error:
        pipeline.build(model({"y": second}).content, Options())
    findings = error.value.findings
    assert [found.operator for found in findings] == ["STABLEHLO_COMPARE"] * 2
    for found in findings:
        assert found.reason.startswith("it compares in total order; LiteRT cannot run this model")


@pytest.mark.parametrize("named", ["MATRIX_DIAG", 0, "MATRIX_SET_DIAG"])
@pytest.mark.parametrize("dtype", ["bool", "float16", "uint16"])
def test_what_litert_computes_beyond_its_memory_stays_on_the_device(
    named: str | int, dtype: str
) -> None:
    row = Input((2, 3), dtype=dtype)
    value = typed(dtype, "MATRIX_DIAG", row)
    if named == "MATRIX_SET_DIAG":
        value = typed(dtype, named, Input((2, 3, 3), dtype=dtype), row)
    content = model({"y": value}).content
    with pytest.raises(OptionError, match=f"DIAG must stay on the device: LiteRT writes {dtype}"):
        pipeline.build(content, Options(fallback_ops=(named,)))
    assert not pipeline.build(content, Options()).plan.parts


def test_an_operator_that_litert_must_not_run_joins_no_part() -> None:
    content = model({"y": typed("bool", "MATRIX_DIAG", xi(2, 3, dtype="bool"))}).content
    graph = read(content)
    (op,) = graph.ops
    reason = "operator 0 MATRIX_DIAG: its neighbour needs it, but LiteRT writes bool as"
    with pytest.raises(UnsupportedError, match=reason):
        fall_back(graph, {op: Finding(0, op.name, "its neighbour needs it")})
