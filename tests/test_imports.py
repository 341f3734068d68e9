"""Who may import whom: read off the source of every file, and off a process that imports.

samples, tests -> compiler -> {templates, a few modules of runtime}; runtime and templates know
nothing of the compiler. So an application that loads a plan never imports what only compiles.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("compiler", "runtime", "templates")

SHARED = (
    "errors",
    "plan",
    "schema",
    "extents",
    "serialize",
    "verify",
    "cache",
    "variant",
    "privacy",
)
"""Modules of runtime that say what a plan is and where it lies; the compiler writes by them."""

ALLOWED = {
    "templates": ("templates",),
    "runtime.facade": ("compiler", "runtime"),
    "runtime": ("runtime",),
    # These also run what was compiled; target asks the attached device what it is.
    "compiler.benchmark.measure": ("compiler", "runtime"),
    "compiler.benchmark.roofline": ("compiler", "runtime"),
    "compiler.benchmark.kept_roofline": ("compiler", "runtime"),
    "compiler.cli": ("compiler", "runtime"),
    "compiler.verify": ("compiler", "runtime"),
    "compiler.prebuild": ("compiler", "runtime"),
    "compiler.target": ("compiler", "runtime"),
    "compiler.tuning.search": ("compiler", "runtime"),
    "compiler.devices": ("compiler.devices", "compiler.errors", "runtime.device"),
    "compiler.errors": ("runtime.errors",),
    "compiler.ir": ("compiler.errors",),
    "compiler": ("compiler", "templates", *(f"runtime.{name}" for name in SHARED)),
}
"""What of ours each part may import; the longest key that fits a module counts."""

FORBIDDEN = {
    "compiler.ops": ("compiler.passes", "compiler.driver", "compiler.cli"),
    "compiler.passes": ("compiler.driver", "compiler.cli"),
}
"""Exceptions to ALLOWED: rewrites ask what operators mean, never the other way round."""

MODEL_FORMAT = ("reader", "writer", "tflite_schema", "model_file", "sparsity")
"""Modules of the compiler that know how a .tflite file is laid out."""

RESERVED = {
    "networkx": ("compiler.ir",),
    "jinja2": ("compiler.kernels.render", "compiler.kernels.words", "compiler.cli.report"),
    "tflite": tuple(f"compiler.model.{name}" for name in MODEL_FORMAT),
    "click": ("compiler.cli",),
    "rich": ("compiler.cli",),
    "pygments": ("compiler.cli",),
    "matplotlib": ("compiler.benchmark.plot",),
    "sklearn": (),
}
"""Libraries that only these parts may import."""

NOT_AT_RUN_TIME = ("networkx", "jinja2", "tflite", "click", "rich", "pyopencl", "moderngl")


def covers(prefix: str, module: str) -> bool:
    """Whether a dotted name is the prefix or lies below it."""
    return module == prefix or module.startswith(f"{prefix}.")


def modules(root: Path) -> dict[str, Path]:
    """Dotted name below tflgpu (compiler.ops.base) of every Python file of the package."""
    found = {}
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(module: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Every name a file imports: ours relative to tflgpu, others with their first part only."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            sources = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else [])))
            base = f"tflgpu.{base}" if node.level else base
            sources = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, name in sources:
            if covers("tflgpu", base):
                own = base.removeprefix("tflgpu").removeprefix(".")
                inner = f"{own}.{name}".strip(".")
                yield f"tflgpu.{inner if inner in known else own}"
            else:
                yield base.partition(".")[0]


def objection(module: str, imported: str) -> str | None:
    """Why a module may not import something, or None."""
    if not covers("tflgpu", imported):
        allowed = RESERVED.get(imported)
        if allowed is None or any(covers(part, module) for part in allowed):
            return None
        return f"only {' and '.join(allowed) or 'samples and tests'} may"
    target = imported.removeprefix("tflgpu").removeprefix(".")
    owner = max((part for part in ALLOWED if covers(part, module)), key=len)
    banned = [part for part in FORBIDDEN if covers(part, module)]
    if any(covers(part, target) for key in banned for part in FORBIDDEN[key]):
        return "it is built upon, so it does not know what is built"
    if not any(covers(part, target) for part in ALLOWED[owner]):
        return f"{owner} may import {', '.join(ALLOWED[owner])}"
    return None


def violations(root: Path) -> list[str]:
    """Every forbidden import below a tree laid out like this one."""
    known = modules(root)
    found = []
    for module, path in sorted(known.items()):
        for imported in imports(module, path, known):
            reason = objection(module, imported)
            if reason:
                found.append(f"{path.relative_to(root)} imports {imported}: {reason}")
    return found


def test_every_import_goes_the_right_way() -> None:
    assert len(modules(ROOT)) > 20
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("path", "line", "imported"),
    [
        ("runtime/plan.py", "from ..compiler import driver", "tflgpu.compiler.driver"),
        ("runtime/plan.py", "import tflgpu.compiler", "tflgpu.compiler"),
        ("runtime/plan.py", "from .. import compiler", "tflgpu.compiler"),
        ("runtime/plan.py", "def late():\n    import networkx.algorithms", "networkx"),
        ("runtime/plan.py", "from jinja2.environment import Template", "jinja2"),
        ("templates/__init__.py", "from ..runtime.plan import Plan", "tflgpu.runtime.plan"),
        ("compiler/passes/fuse.py", "from ..driver import build", "tflgpu.compiler.driver"),
        ("compiler/ops/base.py", "from ..passes.fuse import fuse", "tflgpu.compiler.passes.fuse"),
        ("compiler/driver.py", "from networkx import DiGraph", "networkx"),
        ("compiler/driver.py", "import rich.table", "rich"),
        ("compiler/ir.py", "from . import driver", "tflgpu.compiler.driver"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, path: str, line: str, imported: str) -> None:
    tree = ("driver.py", "ir.py", "passes/fuse.py", "ops/base.py", "__init__.py")
    for name in (
        *(f"compiler/{name}" for name in tree),
        "runtime/plan.py",
        "templates/__init__.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("from __future__ import annotations\nimport numpy as np\n")
    assert violations(tmp_path) == []
    (tmp_path / path).write_text(f"{line}\n")
    (found,) = violations(tmp_path)
    assert found.startswith(f"{path} imports {imported}: ")


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_inside_the_package_are_relative(folder: str) -> None:
    """An absolute one would load modules, or make type checkers see classes, a second time."""
    facade = ROOT / "runtime" / "facade" / "__init__.py"
    for path in (ROOT / folder).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        absolute = [
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and not node.level
            if node.module and node.module.partition(".")[0] in ("tflgpu", *FOLDERS)
        ]
        assert path == facade or absolute == [], path


@pytest.mark.parametrize("statement", ["import tflgpu.runtime", "import tflgpu; tflgpu.load"])
def test_loading_imports_no_compiler(statement: str) -> None:
    script = f"import sys; {statement}; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "tflgpu.runtime" in loaded
    assert not loaded & {*NOT_AT_RUN_TIME, "tflgpu.compiler"}
