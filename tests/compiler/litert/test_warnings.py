"""What users read about parts on LiteRT: warnings, commands, options, and errors at load."""

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import flatbuffers
import pytest
from ai_edge_litert import schema_py_generated as schema
from commands import as_json, invoke
from graphs.hosted import crossing, elementwise, searching

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.emit.compiled_model import fallback_text
from tflgpu.compiler.errors import FallbackWarning, OptionError, UnsupportedError
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.litert.reference import ReferenceMissingError
from tflgpu.runtime.errors import DeviceError, PlanError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("free_exchange")]


def test_the_warning_names_each_operator_and_why(tmp_path: Path) -> None:
    with pytest.warns(FallbackWarning) as told:
        tflgpu.compile(searching(), tmp_path)
    (warning,) = told
    assert str(warning.message).splitlines() == [
        "2 operators run on LiteRT, not on the device:",
        "  operator 1 TOPK_V2 (fallback/0.tflite): input 1 (k) is computed while the model runs",
        "  operator 2 ABS (fallback/0.tflite): the shape of its input v is known only while the "
        "model runs",
    ]


def test_the_warning_names_the_first_of_many() -> None:
    entry = {"index": 3, "operator": "ABS", "part": "fallback/0.tflite", "reason": "why"}
    lines = fallback_text([entry] * 70).splitlines()
    assert (lines[0], len(lines)) == ("70 operators run on LiteRT, not on the device:", 12)
    assert lines[-1] == "  and 60 more; `tflgpu explain` lists all of them"
    assert fallback_text([entry] * 11).count("operator 3 ABS") == 11


def test_commands_name_the_parts(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(searching())
    forced = ("--fallback-op", "NEG", "--device", "cpu")
    run = invoke("compile", model, "-o", tmp_path / "c", *forced)
    assert "fallback/0.tflite: NEG + TOPK_V2 + ABS" in run.stdout
    assert "operator 0 NEG (fallback/0.tflite): the option fallback_ops names it" in run.stderr
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
    with pytest.raises(OptionError, match="give operators by name or index"):
        Options(fallback_ops="NEG")  # type: ignore[arg-type]


def test_what_litert_lacks_too_is_an_error() -> None:
    graph = elementwise([("a", "x", "ABS"), ("b", "a", "Mystery"), ("c", "b", "NEG")], ["c"])
    with pytest.raises(UnsupportedError, match=r"1 Mystery.*unresolved custom op: Mystery"):
        pipeline.build(write(graph), Options(device="cpu"))


def test_without_litert_operators_for_it_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
    folder = pipeline.write(replace(program, plan=plan, companions=files), tmp_path)
    with pytest.raises(PlanError, match=f"fallback/0.tflite.*{message}"):
        tflgpu.load(folder)


def test_a_plan_that_says_another_type_than_its_part_has(tmp_path: Path) -> None:
    program = pipeline.build(crossing(), Options(device="cpu", fallback_ops=(0, 2, 8)))
    tensors = list(program.plan.host_tensors)
    written = [index for part in program.plan.parts for index in part.outputs]
    given = next(index for index in written if tensors[index].output < 0)
    tensors[given] = replace(tensors[given], dtype="int32")
    plan = replace(program.plan, host_tensors=tuple(tensors))
    folder = pipeline.write(replace(program, plan=plan), tmp_path)
    with pytest.raises(PlanError, match="other inputs or outputs than the plan states"):
        tflgpu.load(folder)
