"""Applies the examples of docs/extending.md to a copy of tflgpu and checks that they work.

Its operators are those of tflgpu: they are taken out of the copy first.
"""

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from docs.pages import ROOT, Block, blocks, section

pytestmark = pytest.mark.slow

PAGE = "docs/extending.md"

# The sections that add an operator, and its name.
ROUTES = {
    "A table row": "STABLEHLO_MAXIMUM",
    "A decomposition": "MATRIX_DIAG",
    "A kernel": "REVERSE_SEQUENCE",
}

# Compares cases with LiteRT, in both languages and with both slice widths.
OPERATORS = """
import sys, tempfile
import numpy as np
import tflgpu
from cases import Case
from graphs import call, ints, model, typed, x, xi
from tflgpu.compiler.litert.reference import Reference

assert tflgpu.__file__.startswith(sys.argv[1]), tflgpu.__file__
wanted = model({{case.name: case.value for case in [{cases}]}})
expected = Reference(wanted.content).run(wanted.inputs)
for target in sorted({{info.target for info in tflgpu.devices()}}):
    for profile in ("gpu", "cpu_avx512") if target == "opencl" else ("gpu",):
        with tempfile.TemporaryDirectory() as cache:
            path = tflgpu.compile(
                wanted.content, cache, target=target, device=profile, fallback="none"
            )
            with tflgpu.load(path, store_binaries=False) as session:
                session.poison()
                results = session.run(wanted.inputs)
        for (name, actual), value in zip(results.items(), expected, strict=True):
            np.testing.assert_allclose(actual, value, 1e-5, 1e-5, err_msg=name)
            print(name)
"""

# Prints the names of all operators.
KNOWN = """
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.decompose.decomposition import DECOMPOSITIONS
print(*OPS, *DECOMPOSITIONS)
"""

# Prints the number of events for two casts, the first of which is also an output.
REWRITES = """
import sys
import tflgpu
from graphs import call, model, typed, xi
from tflgpu.compiler import Options, pipeline

assert tflgpu.__file__.startswith(sys.argv[1]), tflgpu.__file__

def events(value):
    options = Options(device="gpu", fallback="none")
    found = pipeline.build(model({"y": value}).content, options).events
    return [event.reason for event in found if event.rewrite == "merge_casts"]

exact = typed("int32", "CAST", xi(3, 5, dtype="bool"))
assert events(call("CAST", exact)) == [None]
lossy = typed("int32", "CAST", call("CAST", xi(3, 5)))
assert events(lossy) == ["float32 cannot represent every int32"]
print(len(events([call("CAST", exact), exact])))
"""


def steps(heading: str) -> list[Block]:
    """The code blocks of a section."""
    first, last = section(PAGE, heading)
    return [block for block in blocks(PAGE) if first < block.line <= last]


def copy(folder: Path) -> Path:
    """Copy tflgpu into a folder, laid out as when it is installed, with Python's bytecode."""
    package = folder / "tflgpu"
    kept_out = shutil.ignore_patterns("facade")
    for name in ("compiler", "litert", "runtime", "templates"):
        shutil.copytree(ROOT / name, package / name, ignore=kept_out)
    for name in ("__init__.py", "loading.py"):
        shutil.copy(ROOT / "runtime" / "facade" / name, package)
    return package


def apply(block: Block, package: Path) -> None:
    """Create or change the file that a block describes."""
    if name := block.says("file"):
        (package / name).write_text(block.text, encoding="utf-8")
    elif name := block.says("change"):
        lines = block.text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = (package / name).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{block}: {name} has {text.count(before)} such places"
        (package / name).write_text(text.replace(before, after), encoding="utf-8")


def undo(block: Block, package: Path) -> None:
    """Delete the file that a block describes, or change it back."""
    if name := block.says("file"):
        assert (package / name).read_text(encoding="utf-8") == block.text, f"{block}: {name}"
        (package / name).unlink()
    elif block.says("change"):
        back = {"+": "-", "-": "+"}
        lines = block.text.splitlines(keepends=True)
        text = "".join(back.get(line[0], line[0]) + line[1:] for line in lines)
        apply(replace(block, text=text), package)


def run(script: str, folder: Path) -> str:
    """The output of a script that imports the copy in a folder and the tests' helpers."""
    path = os.pathsep.join((str(folder), str(ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("route", ROUTES)
def test_an_operator_is_added_as_the_page_says(route: str, tmp_path: Path) -> None:
    package = copy(tmp_path)
    found = steps(route)
    for block in found:
        undo(block, package)
    assert ROUTES[route] not in run(KNOWN, tmp_path).split()
    for block in found:
        apply(block, package)
    rows = ", ".join(
        ast.unparse(row) for b in found if b.note == "cases" for row in ast.parse(b.text).body
    )
    assert ROUTES[route] in run(OPERATORS.format(cases=rows), tmp_path)


def test_rewrites_are_added_as_the_page_says(tmp_path: Path) -> None:
    """The graph rewrite replaces the chain rewrite, and also matches shared casts."""
    package = copy(tmp_path)
    for heading, looked_at in (("A rewrite on a chain", 0), ("A rewrite of the graph", 1)):
        for block in steps(heading):
            apply(block, package)
        assert int(run(REWRITES, tmp_path)) == looked_at
