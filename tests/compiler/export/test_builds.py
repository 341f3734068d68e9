"""An exported model builds everywhere without a warning, and the runtime is small."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import DEVNULL

import numpy as np
import pytest
from devices import need_programs
from paths import DIGITS_MODEL, ROOT

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.compiler.options import TargetName
from tflgpu.runtime.cache.variant import Variant, read_variant

pytestmark = pytest.mark.slow

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
ARM64 = "aarch64-linux-gnu"
MINGW = "x86_64-w64-mingw32-gcc"


@pytest.fixture(scope="module", params=["opencl", "glsl"])
def variant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Variant:
    """Digits for a driver."""
    target: TargetName = request.param
    options = Options(target=target, device="gpu", fallback="none")
    folder = tmp_path_factory.mktemp("cache")
    return read_variant(pipeline.write(pipeline.build(DIGITS_MODEL, options), folder))


@pytest.fixture(scope="module")
def project(variant: Variant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    export([variant], folder, "digits", embed=True)
    return folder


def run(
    folder: Path, *command: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def compiled(project: Path, compiler: str, *options: str) -> None:
    """Build the demo; the compiler says nothing."""
    need_programs(compiler)
    files = sorted(path.name for path in project.glob("*.c"))
    words = ("-std=c99", *WARNINGS, "-Os", "-I.", "-o", "demo", *files, "images/tflgpu_images.c")
    built = run(project, compiler, *words, *options)
    assert (built.returncode, built.stderr) == (0, "")


def test_clang_builds_it_without_warnings(project: Path) -> None:
    compiled(project, "clang", "-Wconversion", "-Wno-sign-conversion", "-ldl", "-lpthread")


def test_a_number_of_runs(project: Path) -> None:
    compiled(project, "gcc", "-ldl", "-lpthread")
    for runs in ("0", "-1", "many", "5x", "9" * 20):
        ran = run(project, "./demo", "in.bin", "out.bin", "--runs", runs)
        assert (ran.returncode, ran.stderr) == (1, "--runs is no number above 0\n")


def test_the_name_of_a_variable_of_the_demo(variant: Variant, tmp_path: Path) -> None:
    export([variant], tmp_path, "model", embed=True)
    compiled(tmp_path, "gcc", "-ldl", "-lpthread")


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of programs for Windows.

    Wine's server and services stay, and hold no pipe: a server that shuts down after a program,
    which closes the pipes that its services hold, ends a program that has just begun, too.
    """
    need_programs("wine")
    folder = tmp_path_factory.mktemp("wine")
    env = os.environ | {"WINEPREFIX": str(folder), "WINEDEBUG": "-all"}
    serving = ("wineserver", "--foreground", "--persistent")
    with subprocess.Popen(serving, env=env, stdout=DEVNULL, stderr=DEVNULL) as server:
        boot = subprocess.run(
            ("wine", "wineboot", "--init"), env=env, stdout=DEVNULL, stderr=DEVNULL
        )
        assert boot.returncode == 0
        yield env
        run(folder, "wineserver", "--kill", env=env)
        assert server.wait(60) == 0


def test_the_program_for_windows_runs_in_wine(
    variant: Variant, wine: Mapping[str, str], tmp_path: Path
) -> None:
    """Wine has the OpenCL of this system. The first start compiles kernels, the second restores."""
    export([variant], tmp_path, "digits", embed=False)
    (tmp_path / "in.bin").write_bytes(np.random.default_rng(7).random(64, np.float32).tobytes())
    compiled(tmp_path, MINGW)
    demo = ("wine", "./demo.exe", "in.bin", "out.bin", "--cache", "kernels")
    if variant.plan.target == "glsl":
        ran = run(tmp_path, *demo, env=wine)
        message = "there is no libEGL.dll; install an OpenGL ES driver\n"
        assert (ran.returncode, ran.stderr) == (1, message)
        return
    compiled(tmp_path, "gcc", "-ldl", "-lpthread")
    assert run(tmp_path, "./demo", "in.bin", "here.bin").returncode == 0
    for _ in range(2):
        ran = run(tmp_path, *demo, env=wine)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "here.bin").read_bytes()
        (tmp_path / "out.bin").unlink()
        assert [path.suffix for path in (tmp_path / "kernels").iterdir()] == [".bin"]


def test_the_header_is_for_cpp_too(project: Path) -> None:
    need_programs("clang")
    (project / "program.cpp").write_text(
        '#include "digits_model.h"\nconst tflgpu_model *m = &digits_model;\n'
    )
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
