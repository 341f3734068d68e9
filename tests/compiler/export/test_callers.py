"""Programs that call the runtime in other ways than the demo, under AddressSanitizer."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from exporting import CHECKED, Found, build, exported, hasty, run
from paths import DIGITS_MODEL
from wgpu_native import wgpu_native

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import BACKENDS, export
from tflgpu.compiler.options import TargetName
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

CALLERS = Path(__file__).parent / "callers"
FIXTURES = {"opencl": "found", "gles": "gles", "webgpu": "webgpu"}
# Those of a caller that calls its driver itself, beside what the runtime is linked with.
LIBRARIES = {"opencl": ("-l:libOpenCL.so.1",), "gles": ("-l:libEGL.so.1",), "webgpu": ()}
# How many each of eight threads opens, one after another; with WebGPU one takes a second.
SESSIONS = {"opencl": 2, "gles": 2, "webgpu": 1}
# An extension that every driver here has.
PRESENT = {
    "opencl": "cl_khr_byte_addressable_store",
    "gles": "GL_EXT_color_buffer_float",
    "webgpu": "shader-f16",
}


@dataclass(frozen=True)
class Driver:
    """A driver, and digits exported for it."""

    backend: str
    found: Found
    project: Path

    def build(self, program: Path, *files: Path | str, table: Path | str = "net_model.c") -> None:
        """Build a program with the runtime and the tables of the model."""
        runtime = ("tflgpu.c", f"tflgpu_{self.backend}.c")
        folders = (self.project, self.project / "android", CALLERS)
        included = (f"-I{folder}" for folder in folders)
        native = wgpu_native(self.project.parent) if self.backend == "webgpu" else ()
        sources = (*runtime, str(table), *map(str, files), str(CALLERS / "keep_loaded.c"))
        words = (*CHECKED, *included, *sources, *native)
        build(self.project, str(program), *words)


@pytest.fixture(scope="module", params=["opencl", "gles", "webgpu"])
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    backend: str = request.param
    found: Found = request.getfixturevalue(FIXTURES[backend])
    options = Options(target=BACKENDS[backend], device="gpu", fallback="none")
    compiled = pipeline.build(DIGITS_MODEL, options)
    folder = tmp_path_factory.mktemp(backend)
    project = exported(compiled, folder, embed=True, backend=backend).folder
    return Driver(backend, found, project)


def called(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # PoCL's compiler replaces the stack that AddressSanitizer would free.
    return run(program.parent, f"./{program.name}", *words, sanitizer="use_sigaltstack=0")


def test_buffers_of_the_caller(driver: Driver, tmp_path: Path) -> None:
    """A run on buffers with guards behind them, events, and what is refused."""
    program = tmp_path / "scenario"
    own = CALLERS / f"{driver.backend}.c"
    driver.build(program, CALLERS / "scenario.c", own, *LIBRARIES[driver.backend])
    ran = called(program, driver.found.name)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_hardware_buffers(driver: Driver, tmp_path: Path) -> None:
    """No driver here imports Android's buffers, and Android's header is a stand-in."""
    program = tmp_path / "import"
    driver.build(program, "android/tflgpu_android.c", CALLERS / "import.c")
    ran = called(program, driver.found.name)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_threads_open_and_run_sessions_at_once(driver: Driver, tmp_path: Path) -> None:
    """Eight threads open, run and close sessions at once, without a leak."""
    program = tmp_path / "threads"
    driver.build(program, CALLERS / "threads.c")
    ran = called(program, driver.found.name, str(SESSIONS[driver.backend]))
    assert (ran.returncode, ran.stderr) == (0, "")


# -- half floats ------------------------------------------------------------------------------


def test_half_floats_are_those_of_numpy(tmp_path: Path) -> None:
    """Every one as a float; and of floats the nearest, with what lies in the middle of two."""
    options = Options(target="opencl", device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), tmp_path, embed=True).folder
    build(project, "program", *CHECKED, f"-I{project}", str(CALLERS / "halves.c"))
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    every = halves.astype(np.float32).view(np.uint32)
    drawn = np.random.default_rng(3).integers(0, 1 << 32, 100_000, np.uint32)
    finite = halves[:0x7C00].astype(np.float64)
    middle = np.append((finite[:-1] + finite[1:]) / 2, 65520).astype(np.float32).view(np.uint32)
    signed = (every, middle, middle | 1 << 31)
    near = [bits for each in signed for bits in (each, each + 1, each - 1)]
    floats = np.concatenate([*near, drawn]).view(np.float32)
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
    """A program that says how many groups a persistent kernel would have."""
    folder = tmp_path_factory.mktemp("digits")
    options = Options(target="opencl", device="gpu", fallback="none")
    project = exported(pipeline.build(DIGITS_MODEL, options), folder, embed=True).folder
    build(project, "processors", f"-I{project}", str(CALLERS / "processors.c"), "tflgpu.c")
    return project / "processors"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="asks Linux")
def test_only_processors_of_the_process_are_used(counting: Path) -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert called(counting).stdout == "1\n"
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
    assert called(counting, *map(str, paths)).stdout == f"{left}\n"


@pytest.mark.parametrize(
    ("needed", "instead", "message"),
    [
        (r"(needs \*/ {)\d+", r"\g<1>1", "aligns buffers to"),
        (r"(needs \*/ {\d+, )\d+", r"\g<1>99999", "work-items in a work-group"),
        (r"(needs \*/ .*}, )\d+", r"\g<1>999999999", "bytes of local memory"),
        (r"(needs \*/ .*, )NULL", r'\g<1>"@ cl_not_there"', "lacks cl_not_there"),
    ],
)
def test_what_the_device_lacks(
    driver: Driver, tmp_path: Path, needed: str, instead: str, message: str
) -> None:
    """A model that needs more than the device has is refused."""
    table = (driver.project / "net_model.c").read_text(encoding="utf-8")
    changed, count = re.subn(needed, instead.replace("@", PRESENT[driver.backend]), table)
    assert count == 1
    (tmp_path / "changed.c").write_text(changed, encoding="utf-8")
    driver.build(tmp_path / "demo", "main.c", table=tmp_path / "changed.c")
    (tmp_path / "in.bin").write_bytes(bytes(256))
    ran = called(tmp_path / "demo", "in.bin", "out.bin", "--device", driver.found.name)
    assert (ran.returncode, message in ran.stderr) == (1, True), ran.stderr


def test_a_compiler_that_does_not_begin(counting: Path) -> None:
    project = counting.parent
    build(project, "rejected", f"-I{project}", str(CALLERS / "rejected.c"), "tflgpu.c")
    why = "a device rejects the kernels of net:\nOpenCL's error -6, with no log or one too long\n"
    assert called(project / "rejected").stdout == 2 * why


def test_a_driver_without_images_of_pieces(found: Found, tmp_path: Path) -> None:
    """PoCL makes images of whole buffers only."""
    options = Options(target="opencl", device="adreno", fallback="none")
    ran = exported(pipeline.build(DIGITS_MODEL, options), tmp_path).run(
        *("--device", found.name), content=bytes(256)
    )
    if "PoCL" in found.device:
        assert (ran.returncode, "no images of pieces of buffers" in ran.stderr) == (1, True)
    else:
        assert (ran.returncode, ran.stderr) == (0, "")


def test_two_drivers_in_a_program(found: Found, gles: Found, tmp_path: Path) -> None:
    names: dict[str, TargetName] = {"first": "opencl", "second": "glsl"}
    for name, target in names.items():
        options = Options(target=target, device="gpu", fallback="none")
        compiled = hasty(pipeline.build(DIGITS_MODEL, options))
        stored = pipeline.write(compiled, tmp_path / "cache")
        export([read_variant(stored)], tmp_path / name, name, embed=True)
    sources = (
        "first/first_model.c",
        "second/second_model.c",
        "first/tflgpu.c",
        "first/tflgpu_opencl.c",
    )
    files = (*sources, "second/tflgpu_gles.c", str(CALLERS / "both.c"))
    build(tmp_path, "both", *CHECKED, "-Ifirst", "-Isecond", *files)
    ran = called(tmp_path / "both", found.name, gles.name)
    assert (ran.returncode, ran.stderr) == (0, "")
