"""An exported model builds everywhere without a warning, and the runtime is small."""

import subprocess
from pathlib import Path

import pytest
from devices import need_programs
from paths import DIGITS_MODEL, ROOT

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.compiler.options import TargetName
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
ARM64 = "aarch64-linux-gnu"
MINGW = "x86_64-w64-mingw32-gcc"


@pytest.fixture(scope="module", params=["opencl", "glsl"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits for a driver, exported."""
    target: TargetName = request.param
    folder = tmp_path_factory.mktemp(target)
    options = Options(target=target, device="gpu", fallback="none")
    stored = pipeline.write(pipeline.build(DIGITS_MODEL, options), folder / "cache")
    export([read_variant(stored)], folder / "digits", "digits", embed=True)
    return folder / "digits"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def compiled(project: Path, compiler: str, *options: str) -> None:
    """Build the demo; the compiler says nothing."""
    need_programs(compiler)
    files = sorted(path.name for path in project.glob("*.c"))
    words = ("-std=c99", *WARNINGS, "-Os", "-I.", "-o", "demo", *files, "images/tflgpu_images.c")
    built = run(project, compiler, *words, *options)
    assert (built.returncode, built.stderr) == (0, "")


def test_clang(project: Path) -> None:
    compiled(project, "clang", "-Wconversion", "-Wno-sign-conversion", "-ldl", "-lpthread")


def test_a_number_of_runs(project: Path) -> None:
    compiled(project, "gcc", "-ldl", "-lpthread")
    for runs in ("0", "-1", "many", "5x", "9" * 20):
        ran = run(project, "./demo", "in.bin", "out.bin", "--runs", runs)
        assert (ran.returncode, ran.stderr) == (1, "--runs is no number above 0\n")


def test_windows(project: Path) -> None:
    compiled(project, MINGW)
    assert (project / "demo.exe").read_bytes()[:2] == b"MZ"


def test_the_header_is_for_cpp_too(project: Path) -> None:
    need_programs("clang")
    (project / "program.cpp").write_text('#include "digits.h"\nconst tflgpu_model *m = &digits;\n')
    options = ("-std=c++11", *WARNINGS, "-fsyntax-only")
    assert run(project, "clang", *options, "program.cpp").stderr == ""


def test_arm64_without_a_driver(project: Path) -> None:
    """A program for arm64 runs up to the driver, which an emulated processor has not."""
    need_programs("qemu-aarch64")
    compiled(project, f"{ARM64}-gcc", "-ldl", "-lpthread")
    (project / "in.bin").write_bytes(bytes(256))
    ran = run(project, "qemu-aarch64", "-L", f"/usr/{ARM64}", "./demo", "in.bin", "out.bin")
    assert ran.returncode == 1
    assert ran.stderr.startswith("there is no lib") and ran.stderr.count("\n") == 1


def test_the_runtime_has_at_most_32_kb(project: Path) -> None:
    """Code and constants of what every program with a model contains, on arm64."""
    need_programs(f"{ARM64}-gcc", f"{ARM64}-size")
    sources = sorted(path.name for path in project.glob("tflgpu*.c"))
    assert not run(project, f"{ARM64}-gcc", "-std=c99", "-Os", "-c", *sources).returncode
    objects = [source.replace(".c", ".o") for source in sources]
    rows = run(project, f"{ARM64}-size", *objects).stdout.splitlines()[1:]
    sizes = [sum(map(int, row.split()[:3])) for row in rows]
    assert len(sizes) == 2
    assert sum(sizes) <= 32 * 1024


def test_lines_have_at_most_100_characters() -> None:
    """As in Python, which ruff checks."""
    sources = [*(ROOT / "compiler/export/c").rglob("*.[ch]"), *(ROOT / "samples").rglob("*.c")]
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in sources}
    long = [f"{name}: {line}" for name, each in lines.items() for line in each if len(line) > 100]
    assert len(sources) > 7
    assert long == []
