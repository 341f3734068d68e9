"""`tflgpu benchmark`: what it says, not how fast it is."""

import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ai_edge_litert import compiled_model
from cases.sorts import ordered
from commands import as_json, invoke
from graphs import call, model, w, x, xi
from paths import DIGITS_MODEL

from tflgpu.compiler import pipeline
from tflgpu.compiler.cli import benchmark_answer
from tflgpu.compiler.devices.attached import profile_for
from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.litert.reference import ReferenceMissingError
from tflgpu.compiler.options import Options
from tflgpu.compiler.target import Target
from tflgpu.compiler.tools.benchmark import measure as benchmark
from tflgpu.compiler.tools.benchmark import roofline as rooflines
from tflgpu.compiler.tools.benchmark.litert_gpu import Accelerated
from tflgpu.compiler.tools.benchmark.measure import others_busy
from tflgpu.compiler.tools.benchmark.result import KernelTime
from tflgpu.compiler.tools.benchmark.roofline import Roofline, bytes_moved
from tflgpu.runtime import devices as devices_present

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True, scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where rooflines are kept in these tests: not among those of whoever runs them.

    They are measured with fewer runs.
    """
    folder = tmp_path_factory.mktemp("rooflines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rooflines, "folder", lambda: folder)
        patch.setattr(rooflines, "PASSES", 3)
        patch.setattr(rooflines, "RUNS", 5)
        yield folder


@cache
def measured(device: str) -> Any:
    """What `tflgpu benchmark --json` says of the digits network."""
    arguments = ("benchmark", DIGITS_MODEL, "--device", device, "--rounds", 2, "--threads", 1)
    return as_json(*arguments, "--busy", 1, "--min-seconds", 0)


def test_the_figures_are_positive_and_consistent(opencl_device: str) -> None:
    value = measured(opencl_device)
    assert value["device"] == opencl_device
    for side in (value, value["litert"]):
        lower, upper = side["quartiles_ms"]
        assert 0 < lower <= side["median_ms"] <= upper
        assert side["runs"] == 2 * 4
    assert value["litert"]["threads"] == 1
    assert value["ratio"] > 0 and value["busy"] == 1
    assert min(value[key] for key in ("load_ms", "first_run_ms", "build_ms")) > 0
    memory = value["memory"]
    assert memory["process_peak"] > memory["arena"] + memory["weights"] + memory["buffers"] > 0


def test_other_programs_compute_in_the_block_and_end_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Any] = []

    class Child(subprocess.Popen[bytes]):
        def __init__(self, command: Any) -> None:
            super().__init__(command)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Child)
    with others_busy(2):
        assert [child.poll() for child in started] == [None, None]
    assert all(child.poll() is not None for child in started)


def test_every_kernel_is_measured(opencl_device: str) -> None:
    value = measured(opencl_device)
    plan = pipeline.build(DIGITS_MODEL, Options(device=opencl_device)).plan
    assert [kernel["label"] for kernel in value["kernels"]] == [d.label for d in plan.dispatches]
    for kernel, dispatch in zip(value["kernels"], plan.dispatches, strict=True):
        assert kernel["file"] == plan.kernels[dispatch.kernel].file
        assert kernel["operators"] == list(dispatch.operators)
        assert kernel["flops"] == dispatch.flops
        assert kernel["bytes"] == bytes_moved(dispatch) > 0
        assert kernel["gflops"] * kernel["ms"] * 1e6 == pytest.approx(dispatch.flops)
        assert kernel["gbps"] * kernel["ms"] * 1e6 == pytest.approx(kernel["bytes"])
        assert kernel["roofline"] is None or 0 < kernel["roofline"] <= 1


def test_the_roofline_is_what_the_shares_refer_to(opencl_device: str) -> None:
    value = measured(opencl_device)
    copies = tuple((item["bytes"], item["gbps"] * 1e9) for item in value["roofline"]["copies"])
    roofline = Roofline(value["roofline"]["gflops"] * 1e9, copies, 0.0)
    for kernel in value["kernels"]:
        least = roofline.seconds(kernel["flops"], kernel["bytes"])
        share = least * 1e3 / kernel["ms"]
        assert kernel["roofline"] == (pytest.approx(share) if share <= 1 else None)


def test_a_kernel_beyond_the_roofline_has_no_share() -> None:
    """One of bytes does four times the work of floats: a share of 345% says nothing."""
    kernel = KernelTime("CONV_2D", "kernels/000_conv_bytes.cl", 1e-3, 10**9, 10**6, 3.45e-3)
    assert kernel.roofline is None
    assert replace(kernel, least_seconds=0.5e-3).roofline == pytest.approx(0.5)


def test_a_roofline_is_measured_once(
    opencl_device: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = measured(opencl_device)["roofline"]
    file = Path(value["file"])
    assert file.parent == kept and json.loads(file.read_text())["device"] == opencl_device
    assert 0 < value["dispatch_us"] < 1000 and len(value["measured"]) == len("2020-02-20")

    def forbidden(*arguments: object) -> Roofline:
        raise AssertionError("measured again")

    monkeypatch.setattr(rooflines, "measure", forbidden)
    info = next(item for item in devices_present() if str(item) == opencl_device)
    target = Target(profile_for(info))
    assert rooflines.roofline_of(info, target).roofline.flops / 1e9 == value["gflops"]
    # What is damaged, or of other kernels, is measured again.
    for content in ("", "[]", file.read_text().replace('"kernels": "', '"kernels": "0')):
        file.write_text(content)
        with pytest.raises(AssertionError, match="measured again"):
            rooflines.roofline_of(info, target)
    found = Roofline(1.0, ((8, 2.0),), 3.0)
    monkeypatch.setattr(rooflines, "measure", lambda *arguments: found)
    assert rooflines.roofline_of(info, target).roofline == found
    monkeypatch.setattr(rooflines, "measure", forbidden)
    assert rooflines.roofline_of(info, target).roofline == found
    file.unlink()


def test_glsl_is_measured(opengl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its roofline is, in test_roofline.py."""
    roof = Roofline(1e12, ((1 << 27, 1e11),), 1e-7)
    monkeypatch.setattr(rooflines, "measure", lambda *_: roof)
    arguments = ("--target", "glsl", "--device", opengl_device, "--rounds", 1, "--no-litert")
    value = as_json("benchmark", DIGITS_MODEL, *arguments)
    assert value["target"] == "glsl" and value["median_ms"] > 0
    assert all(kernel["file"].endswith(".comp") for kernel in value["kernels"])


def test_the_table_names_every_kernel(opencl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_answer, "TOP", 2)
    # Long labels are wrapped, but not where the result's name is.
    labels = [f"-> {k['label'].rpartition(' ')[2]}" for k in measured(opencl_device)["kernels"]]
    command = ("benchmark", DIGITS_MODEL, "--device", opencl_device, "--rounds", 1, "--no-litert")
    whole = invoke(*command, "--all").stdout
    assert all(label in whole for label in labels)
    assert f"All {len(labels)} kernels, in the order of dispatch" in whole
    short = invoke(*command).stdout
    assert sum(label in short for label in labels) == 2
    assert f"The 2 slowest of {len(labels)} kernels" in short
    for table in (whole, short):
        # Where a sentence is wrapped depends on the figures in it.
        text = " ".join(table.split())
        assert "GFLOP/s" in text and "including copies in and out" in text
        assert "the rest of a run is " in text or "launched one by one, unlike in a run" in text
        assert "tflgpu / LiteRT" not in text


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--csv=none/x.csv", "there is no folder none"),
        ("--trace=none/x.json", "there is no folder none"),
        ("--csv=/", "cannot write /: it is a folder"),
    ],
)
def test_where_to_write_is_checked_before_measuring(option: str, problem: str) -> None:
    refused = invoke("benchmark", DIGITS_MODEL, option, code=1)
    assert problem in refused.stderr and refused.stdout == ""


@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_seconds_are_finite(seconds: str) -> None:
    refused = invoke("benchmark", DIGITS_MODEL, "--min-seconds", seconds, code=2)
    assert f"{seconds} is not a finite number" in refused.stderr


def test_shares_above_the_roofline_are_explained(opencl_device: str, tmp_path: Path) -> None:
    lookup = call("GATHER", w(100_000, 19), xi(3, draw="places"), axis=0)
    path, below = tmp_path / "lookup.tflite", tmp_path / "below.tflite"
    path.write_bytes(model({"y": lookup}).content)
    below.write_bytes(model({"y": call("SIN", x(500, 1000))}).content)
    command = ("benchmark", "--device", opencl_device, "--rounds", 1, "--no-litert")
    assert as_json(*command, path)["kernels"][0]["roofline"] is None
    assert benchmark_answer.BEYOND in invoke(*command, path).stdout
    assert benchmark_answer.BEYOND not in invoke(*command, below).stdout


def test_without_litert_the_way_out_is_shown(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    command = ("benchmark", DIGITS_MODEL, "--device", opencl_device, "--rounds", 1)
    message = invoke(*command, code=1).stderr
    assert "pip install 'tflgpu[litert]'" in message and "--no-litert" in message
    value = as_json(*command, "--no-litert")
    assert value["litert"] is None and value["ratio"] is None


def test_a_model_that_litert_cannot_run_is_measured_alone(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise RuntimeError("No adapters found")

    monkeypatch.setattr(compiled_model.CompiledModel, "from_file", refuse)
    path = tmp_path / "sort.tflite"
    path.write_bytes(model({"y": ordered("GT", x(3, 7), axis=1)}).content)
    command = ("benchmark", path, "--device", opencl_device, "--rounds", 1, "--litert-gpu")
    value = as_json(*command)
    assert value["median_ms"] > 0 and value["ratio"] is None
    assert "Didn't find op for builtin opcode" in value["litert"]["failure"]
    assert "or finds no GPU" in value["litert_gpu"]["failure"]
    assert "tflgpu / LiteRT" not in invoke(*command).stdout


def test_litert_on_the_gpu_takes_turns_too(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        def __init__(self, model: object) -> None:
            pass

        def run(self, inputs: object) -> None:
            time.sleep(0.02)

    monkeypatch.setattr(benchmark, "Accelerated", Fake)
    command = ("benchmark", DIGITS_MODEL, "--device", opencl_device, "--rounds", 1, "--no-litert")
    value = as_json(*command, "--litert-gpu")
    assert value["litert"] is None and value["litert_gpu"]["median_ms"] > 20
    assert 0 < value["litert_gpu"]["ratio"] < 1
    assert "tflgpu / LiteRT GPU" in invoke(*command, "--litert-gpu").stdout


def test_litert_on_the_gpu_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.compiled_model", None)
    with pytest.raises(ReferenceMissingError, match="pip install 'tflgpu"):
        Accelerated(DIGITS_MODEL)


def test_litert_on_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise RuntimeError("No adapters found")

    monkeypatch.setattr(compiled_model.CompiledModel, "from_file", refuse)
    with pytest.raises(ModelError, match="or finds no GPU"):
        Accelerated(DIGITS_MODEL)


def test_a_trace_and_a_table_of_times(opencl_device: str, tmp_path: Path) -> None:
    trace, times = tmp_path / "trace.json", tmp_path / "times.csv"
    value = as_json(
        *("benchmark", DIGITS_MODEL, "--device", opencl_device, "--no-litert"),
        *("--rounds", 1, "--warmup", 0, "--min-seconds", 0.2, "--trace", trace, "--csv", times),
    )
    assert value["runs"] > 4
    kernels = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") == "device"]
    assert [kernel["name"] for kernel in kernels] == [row["label"] for row in value["kernels"]]
    with times.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [row["label"] for row in value["kernels"]]
    assert [float(row["ms"]) for row in rows] == [row["ms"] for row in value["kernels"]]
    assert {row["on"] for row in rows} == {"device"}
    assert sum(row["share"] for row in value["types"]) == pytest.approx(1)
