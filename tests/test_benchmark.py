"""`tflgpu benchmark` and the page of `tflgpu inspect --html`: what they say, not how fast it is."""

import json
import math
import sys
import time
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import as_json, invoke
from expressions import call, model, w, xi
from plans import chain

import tflgpu
from tflgpu.compiler import devices, pipeline
from tflgpu.compiler.cli import benchmarking
from tflgpu.compiler.cli.report import report
from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.litert.reference import ReferenceMissingError
from tflgpu.compiler.options import Options
from tflgpu.compiler.target import match
from tflgpu.compiler.tools.benchmark import kept_roofline
from tflgpu.compiler.tools.benchmark import measure as benchmark
from tflgpu.compiler.tools.benchmark.litert_gpu import Accelerated
from tflgpu.compiler.tools.benchmark.roofline import (
    DISPATCHES,
    REPEATS,
    TURNS,
    Roofline,
    bytes_moved,
    compile_dispatches,
    compile_roofline,
)
from tflgpu.runtime import PlanError, load
from tflgpu.runtime import devices as devices_present
from tflgpu.runtime.plan.records import Region
from tflgpu.runtime.store.variant import Variant, read_variant

MODEL = Path(__file__).parents[1] / "samples" / "digits" / "digits.tflite"
PROFILE = "cpu_avx2"
"""For compilations whose result is not run."""
VOID = {"meta", "br", "hr", "img", "input", "link"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True, scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where rooflines are kept in these tests: not among those of whoever runs them."""
    folder = tmp_path_factory.mktemp("rooflines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_roofline, "folder", lambda: folder)
        yield folder


@cache
def measured(device: str) -> Any:
    """What `tflgpu benchmark --json` says of the digits network."""
    arguments = ("benchmark", MODEL, "--device", device, "--rounds", 2, "--threads", 1)
    return as_json(*arguments)


# -- figures ----------------------------------------------------------------------------------


def test_the_figures_are_positive_and_consistent(opencl_device: str) -> None:
    value = measured(opencl_device)
    assert value["device"] == opencl_device
    for side in (value, value["litert"]):
        lower, upper = side["quartiles_ms"]
        assert 0 < lower <= side["median_ms"] <= upper
        assert side["runs"] == 2 * 4
    assert value["litert"]["threads"] == 1
    assert value["ratio"] > 0
    assert min(value[key] for key in ("load_ms", "first_run_ms", "build_ms")) > 0
    memory = value["memory"]
    assert memory["process_peak"] > memory["arena"] + memory["weights"] + memory["buffers"] > 0


def test_every_kernel_is_measured(opencl_device: str) -> None:
    value = measured(opencl_device)
    plan = pipeline.build(MODEL, Options(device=opencl_device)).plan
    assert [kernel["label"] for kernel in value["kernels"]] == [d.label for d in plan.dispatches]
    for kernel, dispatch in zip(value["kernels"], plan.dispatches, strict=True):
        assert kernel["file"] == plan.kernels[dispatch.kernel].file
        assert kernel["flops"] == dispatch.flops
        assert kernel["bytes"] == bytes_moved(dispatch) > 0
        assert kernel["gflops"] * kernel["ms"] * 1e6 == pytest.approx(dispatch.flops)
        assert kernel["gbps"] * kernel["ms"] * 1e6 == pytest.approx(kernel["bytes"])
        assert 0 < kernel["roofline"] < 1.5


def test_the_roofline_is_what_the_shares_refer_to(opencl_device: str) -> None:
    value = measured(opencl_device)
    copies = tuple((item["bytes"], item["gbps"] * 1e9) for item in value["roofline"]["copies"])
    roofline = Roofline(value["roofline"]["gflops"] * 1e9, copies, 0.0)
    for kernel in value["kernels"]:
        least = roofline.seconds(kernel["flops"], kernel["bytes"])
        assert kernel["roofline"] * kernel["ms"] == pytest.approx(least * 1e3)


def test_a_roofline() -> None:
    """A kernel is held against the fastest copy of at least its size."""
    roofline = Roofline(100.0, ((8, 4.0), (16, 6.0), (32, 2.0)), 0.0)
    assert [roofline.bandwidth(moved) for moved in (1, 8, 9, 17, 33)] == [6.0, 6.0, 6.0, 2.0, 2.0]
    assert roofline.seconds(flops=1000, moved=6) == 10.0
    assert roofline.seconds(flops=10, moved=64) == 32.0


def run_roofline(device: str, profile: str, target: str, cache: Path) -> None:
    """The kernels of the roofline compute what their counts of operations claim."""
    program = compile_roofline(devices.profile(profile), target)
    random = np.random.default_rng(3)
    with load(pipeline.store(program, cache), device=device) as session:
        inputs = [random.uniform(0.2, 0.8, i.shape).astype(np.float32) for i in session.inputs]
        sums, *copies = session.run(inputs).values()
    factor, term = inputs[0][0, 0].astype(np.float64)
    arithmetic = program.plan.dispatches[0]
    chains = arithmetic.flops // (sums.size * TURNS * 2)
    # Long before the last turn a chain has reached the value it maps to itself.
    expected = np.broadcast_to(chains * term / (1 - factor), sums.shape)
    np.testing.assert_allclose(sums, expected, rtol=1e-4)
    for copied, original in zip(copies, inputs[1:], strict=True):
        np.testing.assert_array_equal(copied, original)
    assert len(program.plan.dispatches) == REPEATS * len(inputs)


def test_the_kernels_of_the_roofline(opencl_device: str, tmp_path: Path) -> None:
    run_roofline(opencl_device, "cpu_avx512", "opencl", tmp_path)


def test_the_kernels_of_the_roofline_in_glsl(opengl_device: str, tmp_path: Path) -> None:
    run_roofline(opengl_device, "gles31", "glsl", tmp_path)


def test_the_dispatches_are_many_and_small() -> None:
    plan = compile_dispatches(devices.profile("gpu"), "opencl").plan
    assert len(plan.dispatches) == DISPATCHES
    assert {dispatch.grid for dispatch in plan.dispatches} == {(1, 1, 1)}


def test_a_roofline_is_measured_once(
    opencl_device: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = measured(opencl_device)["roofline"]
    file = Path(value["file"])
    assert file.parent == kept and json.loads(file.read_text())["device"] == opencl_device
    assert 0 < value["dispatch_us"] < 1000 and len(value["measured"]) == len("2020-02-20")

    def forbidden(*arguments: object) -> Roofline:
        raise AssertionError("measured again")

    monkeypatch.setattr(kept_roofline, "measure", forbidden)
    info = next(item for item in devices_present() if str(item) == opencl_device)
    profile = match(info).profile
    assert kept_roofline.roofline_of(info, profile).roofline.flops / 1e9 == value["gflops"]
    # What is damaged, or of other kernels, is measured again.
    for content in ("", "[]", file.read_text().replace('"kernels": "', '"kernels": "0')):
        file.write_text(content)
        with pytest.raises(AssertionError, match="measured again"):
            kept_roofline.roofline_of(info, profile)
    found = Roofline(1.0, ((8, 2.0),), 3.0)
    monkeypatch.setattr(kept_roofline, "measure", lambda *arguments: found)
    assert kept_roofline.roofline_of(info, profile).roofline == found
    monkeypatch.setattr(kept_roofline, "measure", forbidden)
    assert kept_roofline.roofline_of(info, profile).roofline == found
    file.unlink()


def test_glsl_is_measured(opengl_device: str) -> None:
    arguments = ("--target", "glsl", "--device", opengl_device, "--rounds", 1, "--no-litert")
    value = as_json("benchmark", MODEL, *arguments)
    assert value["target"] == "glsl" and value["median_ms"] > 0
    assert all(kernel["file"].endswith(".comp") for kernel in value["kernels"])


# -- what is printed --------------------------------------------------------------------------


def test_the_table_names_every_kernel(opencl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarking, "TOP", 2)
    labels = [kernel["label"] for kernel in measured(opencl_device)["kernels"]]
    command = ("benchmark", MODEL, "--device", opencl_device, "--rounds", 1, "--no-litert")
    whole = invoke(*command, "--all").stdout
    assert all(label in whole for label in labels)
    assert f"All {len(labels)} kernels, in the order of dispatch" in whole
    short = invoke(*command).stdout
    assert sum(label in short for label in labels) == 2
    assert f"The slowest 2 of {len(labels)} kernels" in short
    for text in (whole, short):
        assert "GFLOP/s" in text and "copies in and out included" in text
        assert "tflgpu / LiteRT" not in text


def test_shares_above_the_roofline_are_explained(opencl_device: str, tmp_path: Path) -> None:
    lookup = call("GATHER", w(100_000, 19), xi(3, draw="places"), axis=0)
    path = tmp_path / "lookup.tflite"
    path.write_bytes(model({"y": lookup}).content)
    command = ("benchmark", "--device", opencl_device, "--rounds", 1, "--no-litert")
    assert as_json(*command, path)["kernels"][0]["roofline"] > 1
    assert benchmarking.BEYOND in invoke(*command, path).stdout
    assert benchmarking.BEYOND not in invoke(*command, MODEL).stdout


def test_without_litert_the_way_out_is_shown(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    command = ("benchmark", MODEL, "--device", opencl_device, "--rounds", 1)
    message = invoke(*command, code=1).stderr
    assert "pip install 'tflgpu[litert]'" in message and "--no-litert" in message
    value = as_json(*command, "--no-litert")
    assert value["litert"] is None and value["ratio"] is None


def test_litert_on_the_gpu_takes_turns_too(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        def __init__(self, model: object) -> None:
            pass

        def run(self, inputs: object) -> None:
            time.sleep(0.02)

    monkeypatch.setattr(benchmark, "Accelerated", Fake)
    command = ("benchmark", MODEL, "--device", opencl_device, "--rounds", 1, "--no-litert")
    value = as_json(*command, "--litert-gpu")
    assert value["litert"] is None and value["litert_gpu"]["median_ms"] > 20
    assert 0 < value["litert_gpu"]["ratio"] < 1
    assert "tflgpu / LiteRT GPU" in invoke(*command, "--litert-gpu").stdout


def test_litert_on_the_gpu_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.compiled_model", None)
    with pytest.raises(ReferenceMissingError, match="pip install 'tflgpu"):
        Accelerated(MODEL)


def test_litert_on_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_model = pytest.importorskip("ai_edge_litert.compiled_model")

    def refuse(*arguments: object, **options: object) -> None:
        raise RuntimeError("No adapters found")

    monkeypatch.setattr(compiled_model.CompiledModel, "from_file", refuse)
    with pytest.raises(ModelError, match="or finds no GPU"):
        Accelerated(MODEL)


def test_a_plot_is_a_picture(opencl_device: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = ("benchmark", MODEL, "--device", opencl_device, "--rounds", 1, "--no-litert")
    path = tmp_path / "kernels.png"
    assert invoke(*command, "--plot", path).stdout.splitlines()[-1] == str(path)
    assert path.read_bytes().startswith(PNG)
    missing = tmp_path / "missing" / "kernels.png"
    result = invoke(*command, "--plot", missing, code=1)
    assert f"cannot write {missing}" in result.stderr
    # What was measured is not lost.
    assert "kernels, in the order of dispatch" in result.stdout


def test_a_plot_without_matplotlib_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is measured, too: the model need not even exist."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = ("benchmark", tmp_path / "none.tflite", "--plot", tmp_path / "kernels.png")
    assert "pip install 'tflgpu[plot]'" in invoke(*arguments, code=1).stderr


def test_a_plot_of_another_kind_is_refused(tmp_path: Path) -> None:
    result = invoke("benchmark", MODEL, "--plot", tmp_path / "kernels.txt", code=2)
    assert ".png, .svg, .pdf" in result.stderr


# -- the page ---------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags and texts of a page; tags must be closed in the order they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]


def compiled(model: Path | bytes, cache: Path, **options: Any) -> Variant:
    return read_variant(tflgpu.compile(model, cache, device=PROFILE, **options))


def test_the_page_shows_everything(tmp_path: Path) -> None:
    variant = compiled(MODEL, tmp_path / "cache")
    target = tmp_path / "report.html"
    result = invoke("inspect", tmp_path / "cache", "--html", target)
    assert result.stdout.strip() == str(target)
    page = Page(target.read_text(encoding="utf-8"))
    plan = variant.plan
    assert "digits.tflite" in page.text and plan.fingerprint in page.text
    for kernel in plan.kernels:
        assert kernel.name in page.text
        assert variant.sources[kernel.file].rstrip() in page.text
    for dispatch in plan.dispatches:
        assert dispatch.label in page.text
        assert dispatch.why in page.text and "group: " in dispatch.why
    for tensor in plan.tensors:
        assert tensor.name in page.text
    for event in json.loads(plan.passes):
        assert event["pass"] in page.text and event["reason"] in page.text
    for name in Options.names():
        assert name in page.text


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = Page(report(compiled(MODEL, tmp_path)))
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    targets = {f"#{name}" for name in page.attributes("id")}
    assert page.attributes("href") and set(page.attributes("href")) <= targets
    assert page.attributes("src") == []
    assert "@import" not in page.text and "url(" not in page.text


def test_the_map_has_a_box_for_each_tensor_of_the_arena(tmp_path: Path) -> None:
    variant = compiled(MODEL, tmp_path)
    page = Page(report(variant))
    boxes = [attrs for tag, attrs in page.tags if tag == "rect"]
    tensors = [tensor for tensor in variant.plan.tensors if tensor.region is Region.ARENA]
    assert len(boxes) == len(tensors) > 3
    (view,) = (attrs["viewbox"] for tag, attrs in page.tags if tag == "svg")
    left, top, width, height = map(float, str(view).split())
    for box in boxes:
        x, y, across, down = (float(str(box[key])) for key in ("x", "y", "width", "height"))
        assert across > 0 and down > 0
        assert left <= 0 <= x and math.floor(x + across) <= left + width
        assert top <= y and math.floor(y + down) <= top + height


def test_names_are_escaped(tmp_path: Path) -> None:
    name = "<b>bold</b> & \"quoted\" </details><script>alert('hello')</script>"
    graph = Graph("names")
    source, middle, result = (Tensor(f"{name}{number}", (1, 3, 5, 7)) for number in range(3))
    graph.inputs, graph.input_names = [source], [source.name]
    graph.add(Op("SOFTMAX", (source,), (middle,), {"beta": 1.0}, index=0))
    graph.add(Op("SOFTMAX", (middle,), (result,), {"beta": 1.0}, index=1))
    graph.outputs, graph.output_names = [result], [result.name]
    text = report(compiled(write(graph), tmp_path))
    page = Page(text)
    assert not {"b", "script"} & {tag for tag, _ in page.tags}
    assert "<b>" not in text and "&lt;b&gt;bold" in text
    assert all(f"{name}{number}" in page.text for number in range(3))


def test_glsl_sources_are_shown(tmp_path: Path) -> None:
    path = tflgpu.compile(MODEL, tmp_path, target="glsl", device="gles31")
    assert "#version 310 es" in Page(report(read_variant(path))).text


def test_a_model_without_intermediate_tensors(tmp_path: Path) -> None:
    graph = Graph("one")
    source, result = (Tensor(name, (1, 3, 5, 7)) for name in "xy")
    graph.inputs, graph.input_names = [source], ["x"]
    graph.add(Op("ABS", (source,), (result,), {}, index=0))
    graph.outputs, graph.output_names = [result], ["y"]
    page = Page(report(compiled(write(graph), tmp_path)))
    assert "svg" not in {tag for tag, _ in page.tags}
    assert "No tensor lies in memory of its own" in page.text


@pytest.mark.parametrize("notes", ["not JSON", '{"pass": 1}', '[{"pass": "x"}]', "[3]"])
def test_notes_that_are_none_are_reported(notes: str, tmp_path: Path) -> None:
    folder = chain().replacing(passes=notes).write(tmp_path)
    with pytest.raises(PlanError, match="compile the model again"):
        report(read_variant(folder))


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tflgpu.compile(MODEL, tmp_path / "cache", device=PROFILE)
    target = tmp_path / "missing" / "report.html"
    result = invoke("inspect", tmp_path / "cache", "--html", target, code=1)
    assert result.stderr.startswith(f"error: cannot write {target}")
    invoke("inspect", tmp_path / "cache", "--html", target, "--source", "0", code=2)


def test_the_page_as_json(tmp_path: Path) -> None:
    path = tflgpu.compile(MODEL, tmp_path / "cache", device=PROFILE)
    target = tmp_path / "report.html"
    value = as_json("inspect", tmp_path / "cache", "--html", target)
    assert value == {"path": str(path), "html": str(target)}
    assert target.is_file()
