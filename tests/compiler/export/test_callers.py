"""Programs that hand over their own context, buffers and queue; see callers/scenario.c."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from exporting import CHECKED, Found, build, exported
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.options import TargetName

pytestmark = pytest.mark.slow

CALLERS = Path(__file__).parent / "callers"


@pytest.mark.parametrize(
    ("target", "fixture", "runtime", "library"),
    [
        ("opencl", "found", "opencl", "libOpenCL.so.1"),
        ("glsl", "gles", "gles", "libEGL.so.1"),
    ],
)
def test_buffers_of_the_caller(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    target: TargetName,
    fixture: str,
    runtime: str,
    library: str,
) -> None:
    """A run on buffers with guards behind them, events, and what is refused; ASan is silent."""
    found: Found = request.getfixturevalue(fixture)
    options = Options(target=target, device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), tmp_path).folder
    sources = (str(CALLERS / "scenario.c"), str(CALLERS / f"{runtime}.c"))
    files = ("net.c", "tflgpu.c", f"tflgpu_{runtime}.c", *sources, f"-l:{library}")
    build(project, "scenario", *CHECKED, f"-I{project}", f"-I{CALLERS}", *files)
    ran = subprocess.run(
        ["./scenario", found.name],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        # Drivers keep memory until the end of the process.
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
