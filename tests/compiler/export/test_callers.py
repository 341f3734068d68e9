"""Programs that hand over their own context, buffers and queue; see callers/scenario.c."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from exporting import CHECKED, Found, build, exported
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import RUNTIMES
from tflgpu.compiler.options import TargetName

pytestmark = pytest.mark.slow

CALLERS = Path(__file__).parent / "callers"


LIBRARIES: dict[TargetName, str] = {"opencl": "libOpenCL.so.1", "glsl": "libEGL.so.1"}

each_driver = pytest.mark.parametrize(
    ("target", "fixture"), [("opencl", "found"), ("glsl", "gles")]
)


def built(folder: Path, target: TargetName, *files: str) -> Path:
    """The project of digits with a program of these files, `program`, under AddressSanitizer."""
    options = Options(target=target, device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), folder, embed=True).folder
    sources = ("net.c", *(path.name for path in project.glob("tflgpu*.c")), *files)
    build(project, "program", *CHECKED, f"-I{project}", f"-I{CALLERS}", *sources)
    return project


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["./program", *words],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        # PoCL's compiler replaces the stack that AddressSanitizer would free.
        env={**os.environ, "ASAN_OPTIONS": "use_sigaltstack=0"},
    )


@each_driver
def test_buffers_of_the_caller(
    request: pytest.FixtureRequest, tmp_path: Path, target: TargetName, fixture: str
) -> None:
    """A run on buffers with guards behind them, events, and what is refused."""
    found: Found = request.getfixturevalue(fixture)
    driver = str(CALLERS / f"{RUNTIMES[target]}.c")
    files = (str(CALLERS / "scenario.c"), driver, f"-l:{LIBRARIES[target]}")
    ran = run(built(tmp_path, target, *files), found.name)
    assert (ran.returncode, ran.stderr) == (0, "")


@each_driver
def test_threads(
    request: pytest.FixtureRequest, tmp_path: Path, target: TargetName, fixture: str
) -> None:
    """Eight threads open, run and close sessions at once, without a leak."""
    found: Found = request.getfixturevalue(fixture)
    ran = run(built(tmp_path, target, str(CALLERS / "threads.c")), found.name, "2")
    assert (ran.returncode, ran.stderr) == (0, "")
