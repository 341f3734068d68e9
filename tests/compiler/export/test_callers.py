"""Programs that hand over their own context, buffers and queue; see callers/scenario.c."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
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


# -- half floats ------------------------------------------------------------------------------


def test_half_floats_are_those_of_numpy(tmp_path: Path) -> None:
    """Every one as a float; and of floats the nearest, with what lies between two of them."""
    options = Options(target="opencl", device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), tmp_path, embed=True).folder
    build(project, "program", *CHECKED, f"-I{project}", str(CALLERS / "halves.c"))
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    every = halves.astype(np.float32).view(np.uint32)
    drawn = np.random.default_rng(3).integers(0, 1 << 32, 100_000, np.uint32)
    near = [every, every + 1, every - 1, every ^ 0x1000, (every ^ 0x1000) + 1, drawn]
    floats = np.concatenate(near).view(np.float32)
    ran = subprocess.run(
        ["./program"], cwd=project, input=floats.tobytes(), capture_output=True, check=True
    )
    found = np.frombuffer(ran.stdout, np.uint8)
    widened, narrowed = found[: every.nbytes].view(np.float32), found[every.nbytes :]
    np.testing.assert_array_equal(widened, halves.astype(np.float32))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(narrowed.view(np.float16), floats.astype(np.float16))


# -- processors -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose program says how many groups a persistent kernel would have."""
    folder = tmp_path_factory.mktemp("digits")
    options = Options(target="opencl", device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), folder, embed=True).folder
    build(project, "program", f"-I{project}", str(CALLERS / "processors.c"), "tflgpu.c")
    return project


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="asks Linux")
def test_only_processors_of_the_process_are_used(counting: Path) -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert run(counting).stdout == "1\n"
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("files", "left"),
    [
        (("max 100000\n",), "64"),
        (("350000 100000\n",), "3"),
        (("50000 100000\n",), "0"),
        (("-1\n", "100000\n"), "64"),
        (("200000\n", "100000\n"), "2"),
        (("",), "64"),
        (("9 0\n",), "64"),
    ],
)
def test_the_quota_of_a_container(
    counting: Path, tmp_path: Path, files: tuple[str, ...], left: str
) -> None:
    """Control groups of version 2 have one file, those of version 1 two. The least is one."""
    paths = [tmp_path / str(number) for number in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    assert run(counting, *map(str, paths)).stdout == f"{left}\n"
