"""What the report shows, and that it stands in the page as it is."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from paths import DIGITS_MODEL, ROOT
from plans import chain

import tflgpu
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.report.contents import contents
from tflgpu.compiler.report.page import SCRIPTS, STYLES, page
from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.variant import Variant, read_variant

PROFILE = "cpu_avx2"  # For compilations whose result is not run.

WEB = ROOT / "compiler" / "report" / "web"
VENDOR = ROOT / "compiler" / "report" / "vendor"


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text of its element of data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][1].get("id") == "contents":
            self.data += data


def compiled(model: Path | bytes, cache: Path, **options: Any) -> Variant:
    return read_variant(tflgpu.compile(model, cache, **{"device": PROFILE, **options}))


def source(kernel: dict[str, Any]) -> str:
    """A kernel's source without the spans around its tokens."""
    return unescape(re.sub("<[^>]*>", "", kernel["source"]))


def test_every_kernel_tensor_and_rewrite_is_there(tmp_path: Path) -> None:
    variant = compiled(DIGITS_MODEL, tmp_path)
    plan, value = variant.plan, contents(variant)
    assert [item["label"] for item in value["dispatches"]] == [d.label for d in plan.dispatches]
    assert [item["why"] for item in value["dispatches"]] == [d.why for d in plan.dispatches]
    for kernel, shown in zip(plan.kernels, value["kernels"], strict=True):
        assert source(shown).rstrip() == variant.sources[kernel.file].rstrip()
    assert [item["name"] for item in value["tensors"]] == [item.name for item in plan.tensors]
    noted = json.loads(plan.passes)
    assert [{**item, "indices": 0} for item in value["rewrites"]] == [
        {**item, "indices": 0} for item in noted
    ]
    assert all(
        [f"{index} " for index in item["indices"]] == [text.split(" ")[0] + " " for text in names]
        for item, names in ((item, item["operators"]) for item in value["rewrites"])
    )
    assert value["model"]["options"] == json.loads(plan.options)


def test_glsl_sources_are_shown(tmp_path: Path) -> None:
    value = contents(compiled(DIGITS_MODEL, tmp_path, target="glsl", device="gles31"))
    assert source(value["kernels"][0]).startswith("#version 310 es")


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    found = Elements(page(contents(compiled(DIGITS_MODEL, tmp_path))))
    assert not {"img", "iframe", "object"} & {tag for tag, _ in found.tags}
    assert [attrs for _, attrs in found.tags if "src" in attrs] == []
    assert [attrs["href"] for tag, attrs in found.tags if "href" in attrs] == ["data:,"]


def test_the_page_has_the_licences_of_its_libraries(tmp_path: Path) -> None:
    text = page(contents(compiled(DIGITS_MODEL, tmp_path)))
    assert "Copyright (c) 2012-2014 Chris Pettitt" in text
    assert re.search(r"Copyright \(c\) 2016-20\d\d, The Cytoscape Consortium", text)


def test_names_cannot_leave_the_data(tmp_path: Path) -> None:
    name = "<b>bold</b> & \"quoted\" </script><!--<script>alert('hello')</script>"
    graph = Graph("names")
    given, middle, result = (Tensor(f"{name}{number}", (1, 3, 5, 7)) for number in range(3))
    graph.inputs, graph.input_names = [given], [given.name]
    graph.add(Op("SOFTMAX", (given,), (middle,), {"beta": 1.0}, index=0))
    graph.add(Op("SOFTMAX", (middle,), (result,), {"beta": 1.0}, index=1))
    graph.outputs, graph.output_names = [result], [result.name]
    value = contents(compiled(write(graph), tmp_path))
    found = Elements(page(value))
    assert "b" not in {tag for tag, _ in found.tags}
    assert json.loads(found.data) == json.loads(json.dumps(value))
    assert [item["name"] for item in value["model"]["inputs"]] == [f"{name}0"]


@pytest.mark.parametrize("notes", ["not JSON", '{"pass": 1}', '[{"pass": "x"}]', "[3]"])
def test_notes_that_are_none_are_reported(notes: str, tmp_path: Path) -> None:
    folder = chain().replacing(passes=notes).write(tmp_path)
    with pytest.raises(PlanError, match="compile the model again"):
        contents(read_variant(folder))


@pytest.mark.parametrize("operators", ['["CONV_2D"]', "[3]", "3"])
def test_rewrites_of_no_operators_are_reported(operators: str, tmp_path: Path) -> None:
    event = f'[{{"pass": "x", "applied": true, "reason": "", "operators": {operators}}}]'
    folder = chain().replacing(passes=event).write(tmp_path)
    with pytest.raises(PlanError, match="names no operators; compile the model again"):
        contents(read_variant(folder))


def test_every_script_and_style_is_in_the_page() -> None:
    for folder, names in (("scripts", SCRIPTS), ("styles", STYLES)):
        files = sorted((WEB / folder).iterdir())
        assert sorted(names) == [file.stem for file in files]
        assert all(len(file.read_text().splitlines()) <= 300 for file in files)


def test_the_libraries_are_those_that_the_page_about_them_names() -> None:
    said = (VENDOR / "README.md").read_text()
    fetched = (VENDOR / "renew.sh").read_text()
    for library, version in re.findall(r"^(cytoscape|dagre)=(.+)$", fetched, re.MULTILINE):
        assert f"| {version} |" in said
        assert f'"{version}"' in (VENDOR / f"{library}.min.js").read_text()
