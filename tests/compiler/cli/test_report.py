"""The page of `tflgpu inspect --html`."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from commands import as_json, invoke
from paths import DIGITS_MODEL
from plans import chain

import tflgpu
from tflgpu.compiler.cli.report import report
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.options import Options
from tflgpu.runtime import PlanError
from tflgpu.runtime.plan.records import Region
from tflgpu.runtime.store.variant import Variant, read_variant

PROFILE = "cpu_avx2"
"""For compilations whose result is not run."""


VOID = {"meta", "br", "hr", "img", "input", "link"}


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
    variant = compiled(DIGITS_MODEL, tmp_path / "cache")
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
    for option in fields(Options):
        assert option.name in page.text


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = Page(report(compiled(DIGITS_MODEL, tmp_path)))
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    targets = {f"#{name}" for name in page.attributes("id")}
    assert page.attributes("href") and set(page.attributes("href")) <= targets
    assert page.attributes("src") == []
    assert "@import" not in page.text and "url(" not in page.text


def test_the_map_has_a_box_for_each_tensor_of_the_arena(tmp_path: Path) -> None:
    variant = compiled(DIGITS_MODEL, tmp_path)
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
    path = tflgpu.compile(DIGITS_MODEL, tmp_path, target="glsl", device="gles31")
    assert "#version 310 es" in Page(report(read_variant(path))).text


def test_a_model_without_intermediate_tensors(tmp_path: Path) -> None:
    graph = Graph("one")
    source, result = (Tensor(name, (1, 3, 5, 7)) for name in "xy")
    graph.inputs, graph.input_names = [source], ["x"]
    graph.add(Op("ABS", (source,), (result,), {}, index=0))
    graph.outputs, graph.output_names = [result], ["y"]
    page = Page(report(compiled(write(graph), tmp_path)))
    assert "svg" not in {tag for tag, _ in page.tags}
    assert "There are no intermediate tensors" in page.text


@pytest.mark.parametrize("notes", ["not JSON", '{"pass": 1}', '[{"pass": "x"}]', "[3]"])
def test_notes_that_are_none_are_reported(notes: str, tmp_path: Path) -> None:
    folder = chain().replacing(passes=notes).write(tmp_path)
    with pytest.raises(PlanError, match="compile the model again"):
        report(read_variant(folder))


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", device=PROFILE)
    target = tmp_path / "missing" / "report.html"
    result = invoke("inspect", tmp_path / "cache", "--html", target, code=1)
    assert result.stderr.startswith(f"error: cannot write {target}")
    invoke("inspect", tmp_path / "cache", "--html", target, "--source", "0", code=2)


def test_the_page_as_json(tmp_path: Path) -> None:
    path = tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", device=PROFILE)
    target = tmp_path / "report.html"
    value = as_json("inspect", tmp_path / "cache", "--html", target)
    assert value == {"path": str(path), "html": str(target)}
    assert target.is_file()
