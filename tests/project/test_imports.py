"""Who may import whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from commands import cache_of_drivers
from devices import best_opencl_device, its_driver_alone
from paths import DIGITS_MODEL, ROOT

import tflgpu

FOLDERS = ("compiler", "litert", "runtime", "templates")

# Folders and loose modules in the order of the data: each may import those before it.
STAGES = {
    "compiler": (
        *(
            "version",
            "errors",
            "side_file",
            "formats",
            "options",
            "arguments",
            "state_names",
            "scratch",
            "telling",
            "ir",
            "trial_input",
            "events",
            "newer_schema",
            "tflite_schema",
        ),
        *("language", "intrinsics", "devices", "target"),
        *(
            "ops",
            "frontend",
            "choices",
            "rewrites",
            "resized_model",
            "select",
            "litert",
            "sizing",
            "accessors",
            "memory",
            "codegen",
        ),
        *("emit", "export", "pipeline", "keep_f32", "api"),
        *("tools", "user_cache", "pictures", "report", "fleet", "cli"),
    ),
    "runtime": (
        *("late_names", "printable", "frozen", "errors", "quiet", "waiting", "startup"),
        "typed_json",
        *("processor", "environment"),
        *("plan", "launch", "cache", "remote", "litert", "custom_op"),
        *("opencl", "opengl", "webgpu"),
        *("execution", "input_shapes", "shown", "loaded_model", "binding", "session"),
        *("drivers", "api"),
    ),
    "litert": (
        *("options", "file", "details", "variants", "subgraph", "opened", "interpreter"),
        *("tensor_buffer", "compiled_model", "aliases", "__main__"),
    ),
}

# What of the other packages each part may import besides; the longest key that fits counts.
OUTSIDE = {
    "templates": (),
    "runtime": (),
    # What a plan is and where it lies.
    "compiler": (
        "templates",
        "runtime.late_names",
        "runtime.printable",
        "runtime.errors",
        "runtime.typed_json",
        "runtime.plan",
        "runtime.cache",
    ),
    # These also ask or use attached devices.
    "compiler.api": ("runtime",),
    "compiler.cli": ("runtime",),
    "compiler.devices": ("runtime",),
    # Tables of what the runtime would do.
    "compiler.export": ("runtime",),
    # What the runtime checks of LiteRT's files as well.
    "compiler.frontend": (
        *("runtime.errors", "runtime.litert", "runtime.printable", "runtime.plan"),
        "runtime.typed_json",
    ),
    # Runs what it compiles.
    "compiler.keep_f32": ("runtime",),
    # Loads what it compiles.
    "compiler.user_cache": ("runtime",),
    # Measures on attached devices.
    "compiler.fleet": ("runtime",),
    "compiler.litert": ("runtime.errors", "runtime.litert", "runtime.plan", "runtime.quiet"),
    "compiler.tools": ("runtime",),
    # Reads, compiles, loads and runs.
    "litert": ("compiler", "runtime"),
}

# Libraries that only these parts may import.
RESERVED = {
    "jinja2": ("compiler.codegen", "compiler.report"),
    "tflite": ("compiler.frontend", "compiler.tflite_schema"),
    "click": ("compiler.cli",),
    "rich": ("compiler.cli",),
    "pygments": ("compiler.report",),
    "distributed": ("compiler.fleet",),
    "sklearn": (),
    "fsspec": ("runtime.remote.store",),
    "cryptography": ("runtime.remote.keys",),
}

NOT_AT_RUN_TIME = (
    *("jinja2", "tflite", "click", "rich", "pyopencl", "moderngl", "wgpu"),
    *("fsspec", "cryptography"),
)


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
    if covers("runtime.facade", module):
        return None
    top, owner = place(module)
    other_top, other = place(target)
    if top == other_top:
        stages = STAGES.get(top, ())
        if owner == other or not owner:
            return None
        if other in stages and owner in stages and stages.index(other) < stages.index(owner):
            return None
        return f"{owner} comes before {other or 'the package itself'}"
    key = max((part for part in OUTSIDE if covers(part, module)), key=len)
    if any(covers(part, target) for part in OUTSIDE[key]):
        return None
    return f"{key} may import {' and '.join(OUTSIDE[key]) or 'nothing else of tflgpu'}"


def place(module: str) -> tuple[str, str]:
    """The package a module is in, and its folder or, for a loose module, its own name there."""
    top, _, rest = module.partition(".")
    return top, rest.partition(".")[0]


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
        ("runtime/plan/records.py", "from ...compiler import pipeline", "tflgpu.compiler.pipeline"),
        ("runtime/plan/records.py", "import tflgpu.compiler", "tflgpu.compiler"),
        ("runtime/plan/records.py", "from ... import compiler", "tflgpu.compiler"),
        ("runtime/plan/records.py", "def late():\n    import tflite.Model", "tflite"),
        ("runtime/plan/records.py", "from jinja2.environment import Template", "jinja2"),
        ("templates/__init__.py", "from ..runtime.plan import Plan", "tflgpu.runtime.plan"),
        ("compiler/rewrites/fuse.py", "from ..pipeline import build", "tflgpu.compiler.pipeline"),
        ("compiler/ops/base.py", "from ..rewrites import fuse", "tflgpu.compiler.rewrites.fuse"),
        ("compiler/ops/base.py", "from ..memory import offsets", "tflgpu.compiler.memory"),
        ("compiler/pipeline.py", "from jinja2 import Template", "jinja2"),
        ("compiler/pipeline.py", "import rich.table", "rich"),
        ("compiler/ops/base.py", "from ...runtime import load", "tflgpu.runtime"),
        ("runtime/launch/device.py", "from ..session import Session", "tflgpu.runtime.session"),
        (
            "runtime/plan/records.py",
            "from ..launch.device import Device",
            "tflgpu.runtime.launch.device",
        ),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, path: str, line: str, imported: str) -> None:
    for name in (
        *("compiler/__init__.py", "compiler/pipeline.py", "compiler/rewrites/fuse.py"),
        *("compiler/ops/base.py", "runtime/launch/device.py", "runtime/plan/records.py"),
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


def modules_after(statement: str) -> set[str]:
    """What a fresh interpreter has imported after a statement."""
    script = f"import sys; {statement}; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import tflgpu.compiler.cli.commands.compiling", "import tflgpu; tflgpu.compile_many"],
)
def test_the_extra_is_imported_only_for_stores_and_clusters(statement: str) -> None:
    loaded = modules_after(statement)
    assert "tflgpu.compiler.fleet.api" in loaded
    assert not loaded & {"fsspec", "cryptography", "distributed", "dask", "asyncssh", "aiohttp"}


# What only commands that compile import.
COMPILING = {"tflgpu.compiler.pipeline", "tflgpu.compiler.ops", "jinja2"}


def test_commands_that_compile_nothing_import_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", its_driver_alone(best_opencl_device(), tmp_path))
    commands = ["--version"], ["devices"], ["doctor"], ["cache", "list", "."]
    assert not modules_after(after(*commands)) & COMPILING


def after(*commands: Sequence[str]) -> str:
    """Statements that run `tflgpu`, which says nothing."""
    imports = "import click.testing, tflgpu.compiler.cli as cli"
    return f"{imports}; [click.testing.CliRunner().invoke(cli.main, each) for each in {commands}]"


def test_what_is_compiled_is_run_without_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = best_opencl_device()
    monkeypatch.setenv("XDG_CACHE_HOME", cache_of_drivers(tmp_path / "home"))
    cache = tmp_path / "cache"
    tflgpu.compile(DIGITS_MODEL, cache, device=device)
    load = f"import tflgpu; tflgpu.load({str(DIGITS_MODEL)!r}, device={device!r})"
    assert modules_after(load) >= COMPILING
    for statement in (load, after(["run", str(cache), "random", "--device", device])):
        assert not modules_after(statement) & COMPILING


@pytest.mark.parametrize("statement", ["import tflgpu.runtime", "import tflgpu; tflgpu.load"])
def test_loading_imports_no_compiler(statement: str) -> None:
    loaded = modules_after(statement)
    assert "tflgpu.runtime" in loaded
    assert not loaded & {*NOT_AT_RUN_TIME, "tflgpu.compiler"}
