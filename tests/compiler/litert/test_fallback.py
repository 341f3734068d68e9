"""What the device cannot run is cut out of a model and runs on LiteRT."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from agreement import difference
from ai_edge_litert import schema_py_generated as schema
from commands import as_json, invoke
from devices import Way
from numpy.typing import NDArray

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.emit.compiled_model import CompiledModel, fallback_text
from tflgpu.compiler.errors import FallbackWarning, Finding, OptionError, UnsupportedError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor, constant
from tflgpu.compiler.litert.partition import partition
from tflgpu.compiler.litert.reference import Reference, ReferenceMissingError
from tflgpu.runtime.errors import DeviceError, InputError, PlanError

Array = NDArray[Any]


Line = tuple[str, Sequence[str], str]
"""Names of the outputs, separated by blanks; of the inputs; of the operator."""


SHAPE = (1, 5, 7, 11)


STEP = Quantization((0.05,), (3,))


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


def cut_text(
    lines: Sequence[Line], outputs: Sequence[str], chosen: Sequence[int], inside: str = ""
) -> list[str]:
    graph = graph_of(lines, outputs)
    for tensor in (tensor for op in graph.ops for tensor in op.outputs):
        tensor.dynamic = tensor.name == inside
    hosted = {
        op: Finding(op.index, op.name, "it is chosen") for op in graph.ops if op.index in chosen
    }
    partition(graph, hosted).apply(graph)
    graph.verify()
    return str(graph).splitlines()


CHAIN: list[Line] = [
    ("a", "x", "TANH"),
    ("b", "a", "ABS"),
    ("c", "b", "NEG"),
    ("d", "c", "COS"),
    ("e", "d", "EXP"),
]


def test_neighbours_are_one_part() -> None:
    assert cut_text(CHAIN, ["e"], [1, 2]) == [
        "a = TANH(x)",
        "c = tflgpu.litert(a) part=ABS+NEG",
        "d = COS(c)",
        "e = EXP(d)",
    ]


def test_a_part_does_not_leave_and_come_back() -> None:
    assert cut_text(CHAIN, ["e"], [1, 3]) == [
        "a = TANH(x)",
        "b = tflgpu.litert(a) part=ABS",
        "c = NEG(b)",
        "d = tflgpu.litert(c) part=COS",
        "e = EXP(d)",
    ]


def test_a_shortcut_past_the_device_crosses_on_the_host() -> None:
    lines: list[Line] = [("a", "x", "ABS"), ("b", "a", "NEG"), ("c", "ab", "ADD")]
    assert cut_text(lines, ["c"], [0, 2]) == [
        "a = tflgpu.litert(x) part=ABS",
        "b = NEG(a)",
        "c = tflgpu.litert(a, b) part=ADD",
    ]


def test_branches_side_by_side_are_one_part() -> None:
    lines: list[Line] = [("a", "x", "ABS"), ("b", "x", "NEG"), ("c", "ab", "ADD")]
    assert cut_text(lines, ["c"], [0, 1]) == [
        "a, b = tflgpu.litert(x) part=ABS+NEG",
        "c = ADD(a, b)",
    ]


def test_views_between_parts_do_not_cross() -> None:
    lines: list[Line] = [("a", "x", "ABS"), ("b", "a", "RESHAPE"), ("c", "b", "NEG")]
    assert cut_text(lines, ["c"], [0, 2]) == ["c = tflgpu.litert(x) part=ABS+RESHAPE+NEG"]


def test_a_tensor_no_device_holds_draws_in_what_touches_it_and_what_lies_between() -> None:
    lines: list[Line] = [
        ("a", "x", "ABS"),
        ("b", "a", "NEG"),
        ("c", "b", "COS"),
        ("d", "ca", "ADD"),
        ("e", "d", "EXP"),
    ]
    assert cut_text(lines, ["e"], [0], inside="a") == [
        "d = tflgpu.litert(x) part=ABS+NEG+COS+ADD",
        "e = EXP(d)",
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
    with tflgpu.load(pipeline.store(program, cache), device=way.device) as session:
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


def test_operators_without_kernels_run(way: Way, tmp_path: Path) -> None:
    """Quantized arithmetic: int8 crosses to kernels that only move it."""
    graph = Graph()
    x = Tensor("x", (1, 5, 7, 11))
    q, r = (Tensor(name, x.shape, "int8", quantization=STEP) for name in "qr")
    p = Tensor("p", (1, 11, 5, 7), "int8", quantization=STEP)
    y = Tensor("y", p.shape)
    order = constant("order", np.array([0, 3, 1, 2], np.int32))
    graph.add(Op("QUANTIZE", (x,), (q,), {}, 0))
    graph.add(Op("RELU", (q,), (r,), {}, 1))
    graph.add(Op("TRANSPOSE", (r, order), (p,), {}, 2))
    graph.add(Op("DEQUANTIZE", (p,), (y,), {}, 3))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    content = write(graph)
    program = agrees(content, way, tmp_path)
    assert program.plan.parts[0].label == "QUANTIZE + RELU"
    with pytest.raises(UnsupportedError, match="0 QUANTIZE"):
        pipeline.build(content, Options(device=way.profile, target=way.target, fallback="none"))


def test_parts_of_a_whole_that_are_rescaled_go_to_litert(way: Way, tmp_path: Path) -> None:
    graph = Graph()
    x, other = Tensor("x", SHAPE), Quantization((0.1,), (5,))
    a = Tensor("a", SHAPE, "uint8", quantization=STEP)
    b = Tensor("b", SHAPE, "uint8", quantization=other)
    whole = Tensor("whole", (1, 5, 7, 22), "uint8", quantization=STEP)
    y = Tensor("y", whole.shape)
    for index, (source, target) in enumerate(((x, a), (x, b))):
        graph.add(Op("QUANTIZE", (source,), (target,), {}, index))
    graph.add(Op("CONCATENATION", (a, b), (whole,), {"axis": 3}, 2))
    graph.add(Op("DEQUANTIZE", (whole,), (y,), {}, 3))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    program = agrees(write(graph), way, tmp_path)
    assert not program.plan.dispatches


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


def test_shapes_that_only_a_run_tells(way: Way, tmp_path: Path) -> None:
    program = pipeline.build(searching(), Options(target=way.target, device=way.profile))
    (part,) = program.plan.parts
    assert part.label == "TOPK_V2 + ABS"
    assert [info.dynamic for info in program.plan.outputs] == [True, True]
    (x, _) = drawn(searching())
    with tflgpu.load(pipeline.store(program, tmp_path), device=way.device) as session:
        for k in (3, 1, 7):
            result = session.run({"x": x, "k": np.int32(k)})
            np.testing.assert_array_equal(result["y"], np.abs(np.sort(-x)[:, ::-1][:, :k]))
            assert result["i"].shape == (5, k)


def recurrent() -> bytes:
    """y = SVDF(x), which keeps what it has seen."""
    graph, random = Graph(), np.random.default_rng(7)
    x, y = Tensor("x", (2, 3)), Tensor("y", (2, 5))
    features = constant("features", random.standard_normal((5, 3)).astype(np.float32))
    times = constant("times", random.standard_normal((5, 4)).astype(np.float32))
    state = Tensor("state", (2, 20), variable=True)
    graph.add(Op("SVDF", (x, features, times, None, state), (y,), {"rank": 1}))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    return write(graph)


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
    graph = Graph()
    x, y = Tensor("x", (3,), "string"), Tensor("y", (1, 3), "string")
    shape = constant("shape", np.array([1, 3], np.int32))
    graph.add(Op("RESHAPE", (x, shape), (y,)))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    with pytest.warns(FallbackWarning, match="operator 0 RESHAPE"):
        folder = tflgpu.compile(write(graph), tmp_path)
    with tflgpu.load(folder) as session:
        result = session.run({"x": ["one", b"two", "dr\N{GREEK SMALL LETTER EPSILON}i"]})["y"]
        assert result.tolist() == [[b"one", b"two", "dr\N{GREEK SMALL LETTER EPSILON}i".encode()]]
        with pytest.raises(InputError, match="got int"):
            session.run({"x": np.array(["one", "two", 3], object)})
        with pytest.raises(InputError, match=r"expected string of shape \[3\]"):
            session.run({"x": ["one"]})


def test_the_warning_names_each_operator_and_why(tmp_path: Path) -> None:
    with pytest.warns(FallbackWarning) as told:
        tflgpu.compile(searching(), tmp_path)
    (warning,) = told
    assert str(warning.message).splitlines() == [
        "2 operators run on LiteRT, not on the device:",
        "  operator 1 TOPK_V2 (fallback/0.tflite): input 1 (k) is computed while the model runs",
        "  operator 2 ABS (fallback/0.tflite): it shares a tensor with operator 1 TOPK_V2: "
        "its shape is known only while the model runs",
    ]


def test_the_warning_names_the_first_of_many() -> None:
    entry = {"index": 3, "operator": "ABS", "part": "fallback/0.tflite", "reason": "why"}
    lines = fallback_text([entry] * 70).splitlines()
    assert (lines[0], len(lines)) == ("70 operators run on LiteRT, not on the device:", 12)
    assert lines[-1] == "  and 60 more, which `tflgpu explain` lists"
    assert fallback_text([entry] * 11).count("operator 3 ABS") == 11


def test_commands_name_the_parts(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(searching())
    forced = ("--fallback-op", "NEG", "--device", "cpu")
    run = invoke("compile", model, "-o", tmp_path / "c", *forced)
    assert "fallback/0.tflite: NEG + TOPK_V2 + ABS" in run.stdout
    assert "operator 0 NEG (fallback/0.tflite): fallback_ops names it" in run.stderr
    assert "NEG + TOPK_V2 + ABS" in invoke("inspect", tmp_path / "c").stdout
    told = invoke("explain", model, "--fallback", "litert")
    assert "Operators that run on LiteRT" in told.stdout
    measured = as_json("benchmark", model, "--fallback", "litert", "--rounds", 1)
    (part,) = measured["fallback"]
    assert part["file"] == "fallback/0.tflite" and part["copy_in_ms"] > 0


def test_options_that_make_no_sense() -> None:
    with pytest.raises(OptionError, match="no operator 'CONV_3D'; it has 3: ABS, NEG, TOPK_V2"):
        pipeline.build(searching(), Options(device="cpu", fallback_ops=("CONV_3D",)))
    with pytest.raises(OptionError, match="nothing runs on LiteRT with fallback='none'"):
        Options(fallback="none", fallback_ops=(0,))
    with pytest.raises(OptionError, match="give operators by name or position"):
        Options(fallback_ops="NEG")  # type: ignore[arg-type]


def test_what_litert_lacks_too_is_an_error() -> None:
    graph = graph_of([("a", "x", "ABS"), ("b", "a", "Mystery"), ("c", "b", "NEG")], ["c"])
    with pytest.raises(UnsupportedError, match=r"1 Mystery.*unresolved custom op: Mystery"):
        pipeline.build(write(graph), Options(device="cpu"))


def test_without_litert(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.warns(FallbackWarning):
        folder = tflgpu.compile(searching(), tmp_path)
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(
        DeviceError, match=r"model needs LiteRT for TOPK_V2 \+ ABS, .*tflgpu\[litert"
    ):
        tflgpu.load(folder)
    with pytest.raises(ReferenceMissingError, match=r"1 TOPK_V2(.|\n)*tflgpu\[litert\]"):
        pipeline.build(searching(), Options(device="cpu"))


def test_a_damaged_part_is_found(tmp_path: Path) -> None:
    with pytest.warns(FallbackWarning):
        folder = tflgpu.compile(searching(), tmp_path)
    file = folder / "fallback" / "0.tflite"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(PlanError, match=r"fallback/0.tflite is damaged"):
        tflgpu.load(folder)
    with pytest.warns(FallbackWarning):
        tflgpu.compile(searching(), tmp_path)
    tflgpu.load(folder).close()
    file.unlink()
    with pytest.raises(PlanError, match=r"cannot read .*fallback/0.tflite"):
        tflgpu.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part, op: setattr(op, "inputs", op.outputs), "reads tensor 1 before it is written"),
        (lambda part, op: setattr(op, "outputs", part.inputs), "which already has content"),
        (lambda part, op: setattr(part, "inputs", [-1]), r"its inputs are \[-1\]"),
        (
            lambda part, op: setattr(part, "outputs", [-1]),
            "tensor -1 is an output, but is never written",
        ),
    ],
    ids=["reads too early", "writes an input", "no input", "no output"],
)
def test_a_part_that_reads_what_is_not_there(change: Any, message: str, tmp_path: Path) -> None:
    """LiteRT would end the process."""
    program = pipeline.build(crossing(), Options(device="cpu", fallback_ops=(0, 2, 8)))
    first, *others = program.plan.parts
    model = schema.ModelT.InitFromPackedBuf(program.companions[first.file], 0)
    change(model.subgraphs[0], model.subgraphs[0].operators[0])
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    content = bytes(builder.Output())
    hostile = replace(first, sha256=hashlib.sha256(content).digest())
    plan = replace(program.plan, parts=(hostile, *others))
    files = {**program.companions, first.file: content}
    folder = pipeline.store(replace(program, plan=plan, companions=files), tmp_path)
    with pytest.raises(PlanError, match=f"fallback/0.tflite.*{message}"):
        tflgpu.load(folder)


def test_a_plan_that_says_another_type_than_its_part_has(tmp_path: Path) -> None:
    program = pipeline.build(crossing(), Options(device="cpu", fallback_ops=(0, 2, 8)))
    tensors = list(program.plan.host_tensors)
    written = [index for part in program.plan.parts for index in part.outputs]
    given = next(index for index in written if tensors[index].output < 0)
    tensors[given] = replace(tensors[given], dtype="int32")
    plan = replace(program.plan, host_tensors=tuple(tensors))
    folder = pipeline.store(replace(program, plan=plan), tmp_path)
    with pytest.raises(PlanError, match="other inputs or outputs than the plan states"):
        tflgpu.load(folder)
