"""Checks that facts in the pages that come from the code are current."""

import inspect
import re
import runpy
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

import tflgpu
from docs.pages import ROOT, blocks, content
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.cli import COMMANDS
from tflgpu.compiler.codegen.rendering.vocabulary import Vocabulary
from tflgpu.compiler.devices import Profile
from tflgpu.compiler.ops import OPS

GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
DIGITS = ROOT / "samples" / "digits" / "digits.tflite"


@pytest.mark.parametrize("page", ["extending", "kernels", "operators", "profiles-and-tuning"])
def test_generated_parts_are_current(page: str) -> None:
    """A block of code that shows a file of tflgpu is such a part, too."""
    text = content(f"docs/{page}.md")
    assert GENERATE["current"](text) == text, "run: python docs/generate.py"


def test_every_generated_part_has_a_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    named = [name for text in texts for name in re.findall(r"<!-- generated: (\w+) -->", text)]
    assert sorted(named) == sorted(GENERATE["PARTS"])


def test_every_convolution_has_its_place() -> None:
    """In the table of its implementations, each with profiles that choose it."""
    table = GENERATE["PARTS"]["convolutions"]()
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    assert [row[0].strip("| `") for row in rows] == [r.name for r in OPS["CONV_2D"].implementations]
    assert all(row[2] for row in rows)


def test_a_part_that_is_not_current_is_found() -> None:
    stale = content("docs/kernels.md").replace("| `sum_lanes(v)` |", "| `sum(v)` |")
    assert GENERATE["current"](stale) == content("docs/kernels.md") != stale


def test_the_excerpt_of_the_readme_is_of_a_kernel() -> None:
    (excerpt,) = (block for block in blocks("README.md") if block.language == "c")
    note = re.fullmatch(r"excerpt of (\S+) for the profile (\w+)", excerpt.note)
    assert note is not None
    compiled = pipeline.build(DIGITS, Options(device=note[2], fallback="none"))
    source = compiled.sources[note[1]]
    for piece in excerpt.text.split("...\n"):
        assert piece.rstrip("\n") in source


def test_the_figures_of_the_readme_are_measured_ones() -> None:
    """Those of PoCL and of Intel's driver on Zen 4 stand in the network's row of the results."""
    results = content("samples/benchmarks/RESULTS.md")
    table = results.split("## Networks on processors\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w[\w.]*) \| (\d\.\d\d) \| (\d\.\d\d) \|$", content("README.md"), re.M)
    assert len(rows) >= 5
    for network, *ratios in rows:
        row = re.search(rf"^\| (?:\w+/)?{re.escape(network)}\.tflite \|(.*)\|$", table, re.M)
        assert row is not None, network
        _, _, intel, pocl, *_ = map(str.strip, row[1].split("|"))
        assert ratios == [pocl, intel], network


def test_every_key_of_a_profile_is_explained() -> None:
    text = content("docs/profiles-and-tuning.md")
    keys = {item.name for item in fields(Profile)} - {"name"}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_every_name_a_template_may_use_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for roles and launch variables, which are specific to a template."""
    seen: list[Mapping[str, Any]] = []
    original = Vocabulary.names

    def names_of(self: Any) -> Mapping[str, Any]:
        given = {*self._binding.roles, *self._launch.variables}
        seen.append({key: value for key, value in original(self).items() if key not in given})
        return original(self)

    monkeypatch.setattr(Vocabulary, "names", names_of)
    pipeline.build(DIGITS, Options(device="gpu", fallback="none"))
    text = content("docs/kernels.md")
    names = {name for names in seen for name in names}
    assert len(names) > 30
    assert {name for name in names if not re.search(rf"`{name}[`(.]", text)} == set()


def test_the_man_page_is_current_and_whole() -> None:
    page = GENERATE["man_page"]()
    assert content("docs/tflgpu.1") == page, "run: python docs/generate.py"
    assert all(f".SS tflgpu {name} " in page for name in COMMANDS if name != "cache")
    assert ".SS tflgpu cache prune " in page and r"\fB\-\-fallback\-op NAME|INDEX\fR" in page
    macros = {line.partition(" ")[0] for line in page.splitlines() if line.startswith(".")}
    assert macros <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B"}


def test_every_command_and_public_name_is_mentioned() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    pages += content("README.md")
    assert [name for name in COMMANDS if f"tflgpu {name}" not in pages] == []
    functions = [n for n in tflgpu.__all__ if inspect.isfunction(getattr(tflgpu, n))]
    assert [name for name in functions if f"tflgpu.{name}" not in pages and name != "devices"] == []


def test_the_quick_tier_is_named_where_tests_are_run() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    naming = {path.name for path in pages if "-m quick" in path.read_text(encoding="utf-8")}
    assert naming == {"CONTRIBUTING.md", "README.md"}


def test_pages_and_build_install_and_test_the_same() -> None:
    """The documented extras exist, and CI uses the same packages, extras and commands."""
    readme, steps, fresh = (content(name) for name in ("README.md", ".ci/run", ".ci/fresh"))
    system = content("Dockerfile")
    for text in (steps, system, content("CONTRIBUTING.md")):
        assert ".ci/packages" in text and "pocl-opencl-icd" not in text
    texts = readme + content("CONTRIBUTING.md")
    extras = re.findall(r"pip install (?:-e )?'\.(\[[\w,]+\])'", texts)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = {name for listed in extras for name in listed.strip("[]").split(",")}
    assert named and all(f"\n{name} = [" in project for name in named)
    (most,) = re.findall(r"pip install -e '\.(\[[\w,]+\])'", texts)
    assert f"'.{most}'" in steps and f"'.{most}'" in system
    assert "pytest -m quick -n 2\n" in readme
    assert 'eval "$(bash .ci/readme 2)"' in steps and "bash .ci/fresh" in steps
    assert 'for number in 1 2; do\n        command=$(bash .ci/readme "$number")' in fresh
