"""Models exported in C for WebGPU: devices, compilers, CMake and what goes wrong."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from devices import need_programs
from exporting import Demo, Found, build, content, exported, run
from paths import DIGITS_MODEL
from wgpu_native import wgpu_native

from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(6).random((1, 8, 8, 1), np.float32)}
CALLERS = Path(__file__).parent / "callers"
OPTIONS = Options(target="wgsl", device="webgpu", fallback="none")


@pytest.fixture(scope="module")
def digits(webgpu: Found, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    compiled = pipeline.build(DIGITS_MODEL, OPTIONS)
    return exported(compiled, tmp_path_factory.mktemp("digits"), backend="webgpu")


def test_a_thousand_runs(webgpu: Found, digits: Demo) -> None:
    digits.assert_agrees(webgpu, IMAGE, runs=1000)


def test_a_system_without_a_device_says_what_to_install(
    digits: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, "/none")
    ran = digits.run(content=content(IMAGE))
    assert ran.stderr.startswith("there is no WebGPU device; install a driver of Vulkan")


def test_a_kernel_that_is_rejected(digits: Demo, tmp_path: Path) -> None:
    """With what the compiler says of it."""
    demo = Demo(tmp_path / "project", digits.variant)
    export([read_variant(demo.variant)], demo.folder, "net", False, backend="webgpu")
    table = (demo.folder / "net_model.c").read_text(encoding="utf-8")
    (demo.folder / "net_model.c").write_text(
        table.replace("@compute", "@computed", 1), encoding="utf-8"
    )
    names = sorted(path.name for path in demo.folder.glob("*.c"))
    build(demo.folder, "demo", *names, *wgpu_native(tmp_path))
    said = demo.run(content=content(IMAGE)).stderr
    assert "rejects the kernel " in said and "of digits.tflite:" in said and "computed" in said


def test_a_context_of_opengl_stays_current(
    webgpu: Found, gles: Found, digits: Demo, tmp_path: Path
) -> None:
    """A context that a program has made current stays so."""
    sources = ("net_model.c", "tflgpu.c", "tflgpu_webgpu.c", str(CALLERS / "beside_gles.c"))
    libraries = (*wgpu_native(tmp_path), "-l:libEGL.so.1")
    build(digits.folder, "beside", f"-I{digits.folder}", *sources, *libraries)
    ran = run(digits.folder, "./beside", webgpu.name)
    assert ran.returncode == 0, ran.stderr


def test_a_device_that_is_lost_during_a_run(webgpu: Found, digits: Demo, tmp_path: Path) -> None:
    """It is noticed, and what is run afterwards fails as well."""
    sources = ("net_model.c", "tflgpu.c", "tflgpu_webgpu.c", str(CALLERS / "lost_webgpu.c"))
    wrapped = ("wgpuDeviceGetQueue", "wgpuQueueSubmit", "wgpuInstanceProcessEvents")
    options = (f"-I{digits.folder}", *(f"-Wl,--wrap={name}" for name in wrapped))
    build(digits.folder, "lost", *options, *sources, *wgpu_native(tmp_path))
    ran = run(digits.folder, "./lost")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("clang", ("-Wconversion", "-Wno-sign-conversion")),
        ("x86_64-w64-mingw32-gcc", ()),
        ("aarch64-linux-gnu-gcc", ("-Os",)),
    ],
)
def test_compilers_give_no_warnings(
    digits: Demo, tmp_path: Path, compiler: str, options: tuple[str, ...]
) -> None:
    """They say nothing; for arm64, the runtime has at most 32 KiB."""
    need_programs(compiler)
    header = wgpu_native(tmp_path)[:2]
    sources = [str(digits.folder / name) for name in ("tflgpu.c", "tflgpu_webgpu.c")]
    warnings = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    command = [compiler, *warnings, *options, *header, "-c", *sources]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    if compiler.startswith("aarch64"):
        size = ["aarch64-linux-gnu-size", "tflgpu.o", "tflgpu_webgpu.o"]
        rows = subprocess.run(size, cwd=tmp_path, capture_output=True, text=True, check=True)
        sizes = [sum(map(int, row.split()[:3])) for row in rows.stdout.splitlines()[1:]]
        assert len(sizes) == 2 and sum(sizes) <= 32 * 1024


def test_the_readme_says_how_to_link(digits: Demo) -> None:
    readme = (digits.folder / "README.md").read_text(encoding="utf-8")
    assert "-lwgpu_native" in readme and "emcc" in readme


def test_cmake_builds_it(digits: Demo, tmp_path: Path) -> None:
    need_programs("cmake")
    wgpu_native(tmp_path)
    found = f"-DCMAKE_PREFIX_PATH={tmp_path / 'wgpu'}"
    configure = ["cmake", "-S", str(digits.folder), "-B", "b", found]
    for command in (configure, ["cmake", "--build", "b"]):
        built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert not built.returncode, built.stderr


def test_a_backend_of_another_target(digits: Demo, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="gles runs glsl, not wgsl"):
        export([read_variant(digits.variant)], tmp_path / "no", "net", False, backend="gles")
