"""Models exported in C for WebGPU compute what they compute in Python, bit for bit."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from cases import Case, families
from compiled_cases import compile_cases
from devices import need_programs
from exporting import Demo, Found, build, content, exported, portable
from graphs.variables import running_total
from paths import DIGITS_MODEL
from wgpu_native import wgpu_native

from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(6).random((1, 8, 8, 1), np.float32)}
OPTIONS = Options(target="wgsl", device="webgpu", fallback="none")


@pytest.fixture(scope="module")
def digits(webgpu: Found, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    compiled = pipeline.build(DIGITS_MODEL, OPTIONS)
    return exported(compiled, tmp_path_factory.mktemp("digits"), backend="webgpu")


def test_operators(webgpu: Found, tmp_path: Path) -> None:
    """The first case of every twelfth operator, in one program."""
    firsts: list[Case] = [cases[0] for cases in families().values()]
    item = compile_cases(tuple(filter(portable, firsts[::12])), "wgsl", "webgpu")
    exported(item.model, tmp_path, backend="webgpu").assert_agrees(webgpu, item.inputs)


def test_a_network(models: Path, webgpu: Found, tmp_path: Path) -> None:
    network = models / "networks" / "mediapipe_face" / "face_detection_short_range.tflite"
    image = {"input": np.random.default_rng(8).random((1, 128, 128, 3), np.float32)}
    demo = exported(pipeline.build(network, OPTIONS), tmp_path, backend="webgpu")
    demo.assert_agrees(webgpu, image)


def test_variables_keep_their_content(webgpu: Found, tmp_path: Path) -> None:
    step = {"x": np.full((2, 3), 2.5, np.float32)}
    demo = exported(pipeline.build(running_total(), OPTIONS), tmp_path, backend="webgpu")
    demo.assert_agrees(webgpu, step, runs=3)


def test_a_thousand_runs(webgpu: Found, digits: Demo) -> None:
    digits.assert_agrees(webgpu, IMAGE, runs=1000)


def test_wrong_devices(digits: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = digits.run("--device", "none of these", content=content(IMAGE))
    assert ran.stderr == 'no WebGPU device has "none of these" in its name\n'
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, "/none")
    ran = digits.run(content=content(IMAGE))
    assert ran.stderr.startswith("there is no WebGPU device; install a driver of Vulkan")


def test_a_kernel_that_is_rejected(digits: Demo, tmp_path: Path) -> None:
    """With what the compiler says of it."""
    demo = Demo(tmp_path / "project", digits.variant)
    export([read_variant(demo.variant)], demo.folder, "net", False, backend="webgpu")
    table = (demo.folder / "net.c").read_text(encoding="utf-8")
    (demo.folder / "net.c").write_text(table.replace("@compute", "@computed", 1), encoding="utf-8")
    names = sorted(path.name for path in demo.folder.glob("*.c"))
    build(demo.folder, "demo", *names, *wgpu_native(tmp_path))
    said = demo.run(content=content(IMAGE)).stderr
    assert "rejects the kernel " in said and "of digits.tflite:" in said and "computed" in said


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("clang", ("-Wconversion", "-Wno-sign-conversion")),
        ("x86_64-w64-mingw32-gcc", ()),
        ("aarch64-linux-gnu-gcc", ("-Os",)),
    ],
)
def test_compilers(digits: Demo, tmp_path: Path, compiler: str, options: tuple[str, ...]) -> None:
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


def test_cmake(digits: Demo, tmp_path: Path) -> None:
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
