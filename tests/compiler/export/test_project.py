"""Exported projects for OpenCL: the demo, its memory, its options, and what goes wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.quantized_layers import bias, weights
from devices import need_programs
from disks import mounted
from exporting import CHECKED, LIBRARIES, STRICT, Demo, Found, build, content, exported, run
from graphs import model, parsed, quantized, typed, xi, xq
from graphs.signatures import SHAPE, noted
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.errors import OptionError
from tflgpu.compiler.export import export
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(5).random((1, 8, 8, 1), np.float32)}


def digits(folder: Path, profile: str = "cpu_avx2", **options: Any) -> Demo:
    chosen = Options(target="opencl", device=profile, fallback="none")
    return exported(pipeline.build(DIGITS_MODEL, chosen), folder, **options)


def test_a_launch_for_each_kernel(found: Found, tmp_path: Path) -> None:
    """A profile of GPUs has no persistent kernels."""
    digits(tmp_path, "gpu").assert_agrees(found, IMAGE)


def test_addresses_in_place_of_pieces(found: Found, tmp_path: Path) -> None:
    """What a program does on NVIDIA's platform, here where it can make no pieces of buffers."""
    demo = digits(tmp_path, "gpu")
    source = demo.folder / "tflgpu_opencl.c"
    text = source.read_text()
    for old, new in (
        ('"NVIDIA CUDA"', f'"{found.name}"'),
        ("_TYPE_REGION = 0x1220", "_TYPE_REGION = 0"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    source.write_text(text)
    build(demo.folder, "demo", *CHECKED, *(path.name for path in demo.folder.glob("*.c")))
    ran = demo.run("--device", found.name, "--runs", "3", content=content(IMAGE))
    # Drivers keep memory until the end of the process.
    assert not ran.returncode or "LeakSanitizer" in ran.stderr, ran.stderr
    assert "tflgpu_" not in ran.stderr
    assert demo.outputs == demo.expected(found.device, IMAGE)


def test_products_of_bytes(found: Found, tmp_path: Path) -> None:
    """With the instruction where the processor has it; the bits are the same without."""
    if found.profile != "cpu_avx512":
        pytest.skip("the device's vectors are too narrow for the profile")
    filters = weights((19, 101), channels=False)
    layer = quantized("FULLY_CONNECTED", xq(5, 101), filters, bias(filters, 19), scale=0.6)
    made = model({"y": layer})
    compiled = pipeline.build(made.content, Options(device="cpu_avx512_bytes", fallback="none"))
    assert any("add_products" in source for source in compiled.sources.values())
    exported(compiled, tmp_path).assert_agrees(found, made.inputs)


def test_memory_is_used_as_it_should_be(found: Found, tmp_path: Path) -> None:
    demo = digits(tmp_path, options=CHECKED, embed=True)
    ran = demo.run("--device", found.name, "--runs", "3", content=content(IMAGE))
    # Drivers keep memory until the end of the process.
    assert not ran.returncode or "LeakSanitizer" in ran.stderr, ran.stderr
    assert "tflgpu_" not in ran.stderr
    assert demo.outputs == demo.expected(found.device, IMAGE)


def test_arrays_are_aligned(found: Found, tmp_path: Path) -> None:
    """Those of an odd number of bytes have arrays of wider elements behind them."""
    few = typed("bool", "LOGICAL_NOT", xi(3, dtype="bool"))
    made = model({"y": [few, typed("int64", "NEG", xi(5, dtype="int64"))]})
    compiled = pipeline.build(made.content, Options(device="cpu_avx2", fallback="none"))
    demo = exported(compiled, tmp_path, CHECKED)
    ran = demo.run("--device", found.name, content=content(made.inputs))
    # Drivers keep memory until the end of the process.
    assert not ran.returncode or "LeakSanitizer" in ran.stderr, ran.stderr
    assert demo.outputs == demo.expected(found.device, made.inputs)


def test_the_demo_explains_its_options(tmp_path: Path) -> None:
    demo = digits(tmp_path)
    asked = run(demo.folder, "./demo", "--help")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("usage: demo INPUTS.bin") and "--weights FILE" in asked.stdout
    for wrong, named in (("--runs", "--runs: it lacks its value"), ("--x=1", "--x=1: ")):
        refused = demo.run(wrong)
        assert refused.returncode == 1 and refused.stderr.startswith(named)


@pytest.mark.parametrize("embed", [False, True])
def test_the_readme_tells_of_the_weights_and_is_safe(tmp_path: Path, embed: bool) -> None:
    chosen = Options(target="opencl", device="cpu_avx2", fallback="none")
    compiled = pipeline.build(DIGITS_MODEL, chosen)
    name = "\x1b[2J\u202e`<b>.tflite"
    compiled = replace(compiled, plan=replace(compiled.plan, model=name))
    readme = (exported(compiled, tmp_path, embed=embed).folder / "README.md").read_text()
    assert readme.replace("\n", "").isprintable() and "`\\x1b[2J\\u202e'<b>.tflite`" in readme
    assert ("weights.bin" in readme) != embed
    assert ("kernels and weights |" in readme) == embed


def test_a_folder_of_others_is_refused(found: Found, tmp_path: Path) -> None:
    demo, cache = digits(tmp_path), tmp_path / "binaries"
    cache.mkdir()
    cache.chmod(0o777)
    ran = demo.run("--device", found.name, "--cache", str(cache), content=content(IMAGE))
    assert ran.returncode == 1
    assert "others can write into it" in ran.stderr


def test_variables_of_a_model_without_weights(found: Found, tmp_path: Path) -> None:
    """Nothing is added to the pointer to weights that are not there, which clang notices."""
    need_programs("clang")
    options = Options(target="opencl", device="gpu", fallback="none", signature=("all",))
    demo = exported(pipeline.build(noted(), options), tmp_path)
    sources = sorted(path.name for path in demo.folder.glob("*.c"))
    words = ("-g", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-o", "demo")
    built = run(demo.folder, "clang", *words, *sources, *LIBRARIES)
    assert (built.returncode, built.stderr) == (0, "")
    demo.assert_agrees(found, {"x": np.full(SHAPE, 2.5, np.float32)}, runs=3)


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-4], "bytes instead of"),
        (lambda data: bytes([data[0] ^ 64]) + data[1:], "are damaged or of another model"),
        (lambda data: b"", "cannot be read"),
    ],
)
def test_damaged_weights_are_refused(
    found: Found, tmp_path: Path, damage: Any, message: str
) -> None:
    demo = digits(tmp_path)
    weights = demo.folder / "weights.bin"
    weights.write_bytes(damage(weights.read_bytes()))
    ran = demo.run("--device", found.name, content=content(IMAGE))
    assert (ran.returncode, message in ran.stderr, ran.stderr.count("\n")) == (1, True, 1)


def test_a_file_that_is_too_short(found: Found, tmp_path: Path) -> None:
    assert "does not hold the 256 bytes" in digits(tmp_path).run(content=b"short").stderr


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    made = parsed("input x float32[3]\ny = ABS(x)\noutput y")
    options = Options(target="vulkan", device="gpu", fallback="none")
    variant = read_variant(pipeline.write(pipeline.build(made.content, options), tmp_path / "c"))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(OptionError) as caught:
        export([variant], tmp_path / "taken", "1st", False)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "the model cannot be exported",
        "it was compiled for vulkan; compile it with --target opencl, glsl, wgsl",
        "'1st' is no name for a model",
        f"{tmp_path / 'taken'} is not an empty folder",
    ]


@pytest.mark.parametrize("name", ["int", "main", "printf", "string", "s1", "inputs", "test"])
def test_names_of_c_and_its_library_and_of_cmake(tmp_path: Path, name: str) -> None:
    need_programs("gcc", "cmake")
    made = parsed("input x float32[3]\ny = ABS(x)\noutput y")
    options = Options(device="gpu", fallback="none")
    variant = read_variant(pipeline.write(pipeline.build(made.content, options), tmp_path / "c"))
    project = tmp_path / "project"
    export([variant], project, name, True)
    assert run(project, *STRICT, "-fsyntax-only", "main.c", f"{name}_model.c").stderr == ""
    assert run(project, "cmake", "-B", "build").stderr == ""


@pytest.mark.parametrize("name", ["", "Net", "a-b", "a/b", "tflgpu", "n" * 58])
def test_names_of_no_model(tmp_path: Path, name: str) -> None:
    made = parsed("input x float32[3]\ny = ABS(x)\noutput y")
    options = Options(device="gpu", fallback="none")
    variant = read_variant(pipeline.write(pipeline.build(made.content, options), tmp_path / "c"))
    with pytest.raises(OptionError, match=f"'{name}' is no name for a model: use up to 57"):
        export([variant], tmp_path / "project", name, True)


def test_a_full_disk_keeps_nothing(tmp_path: Path) -> None:
    made = parsed("input x float32[3]\ny = ABS(x)\noutput y")
    options = Options(device="gpu", fallback="none")
    variant = read_variant(pipeline.write(pipeline.build(made.content, options), tmp_path / "c"))
    with mounted(tmp_path / "disk", "size=60k") as disk:
        (disk / "project").mkdir()
        for folder in (disk / "project", disk / "missing"):
            with pytest.raises(OptionError, match=f"cannot write {folder}: No space left"):
                export([variant], folder, "absolute", False)
            assert list(folder.iterdir()) == []
