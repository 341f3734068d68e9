"""The text of kernels: what every file begins with, and that it is always the same text.

That drivers compile each file alone is seen where operators run. Not all profiles of GLSL do, and a
validator is stricter than a driver.
"""

import re
import subprocess
from pathlib import Path

import pytest
from cases import CASES, Case, families
from cases.convolutions import window
from compiled_cases import every_kernel
from devices import need_packages, need_programs, unavailable
from graphs import call, model, w, x

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.codegen.functions.definitions import defined, definitions
from tflgpu.compiler.intrinsics import INTRINSICS
from tflgpu.compiler.language.language import OPENCL
from tflgpu.compiler.options import TargetName

pytestmark = pytest.mark.slow

# The languages, and the widest slices and fewest buffers they have.
TARGETS = (
    *(("opencl", "cpu"), ("opencl", "cpu_avx512"), ("glsl", "gpu"), ("glsl", "gles31")),
    ("wgsl", "webgpu"),
)
WEIGHTS = (w(7, 3, 3, 3), w(7))
# Of an operator's cases every sixteenth is looked at, by the profiles of a language in turn; in
# test_operators.py they all run.
LOOKED_AT = 16

CHECKED = 4  # Of an operator's cases every fourth is checked as OpenCL of GPUs.
# Operators are checked in so many parts; validators take longer to start than to check one.
PARTS = 8
SYNTAX_OF_OPENCL = (
    *("-x", "cl", "-cl-std=CL1.2", "-triple", "spir64", "-fsyntax-only", "-w"),
    *("-finclude-default-header", "-fdeclare-opencl-builtins"),
)


def rendered(part: int, target: TargetName, profile: str) -> dict[str, str]:
    """Sources of some operators' cases, by the rank of the implementations and the file's name."""
    profiles = [name for language, name in TARGETS if language == target]
    chosen: list[Case] = []
    for turn, operator in enumerate(list(families())[part::PARTS], profiles.index(profile)):
        cases = families()[operator][::LOOKED_AT]
        chosen += cases[turn % len(profiles) :: len(profiles)]
    found: dict[str, str] = {}
    for item in every_kernel(tuple(chosen), target, profile, (0, 1)):
        sources = item.model.sources.items()
        found |= {file.replace("kernels/", f"{item.rank}_"): source for file, source in sources}
    return found


@pytest.mark.parametrize(("target", "profile"), TARGETS)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_file_says_what_it_computes(
    part: int, target: TargetName, profile: str, tmp_path: Path
) -> None:
    sources = rendered(part, target, profile)
    for file, source in sources.items():
        assert re.search(r"\S\n\Z", source), f"{file} ends without a newline, or with several"
        if file.endswith("_persistent.cl"):
            begins_with_what_it_merges(source)
        else:
            begins_with_what_it_computes(file, source)
        for word in re.findall(r"^(?:#define|fn) (?!\w+_\d{3}\(|main\()(\w+)", source, re.M):
            assert len(re.findall(rf"\b{word}\b", source)) > 1, f"{file} defines {word} in vain"
    if target == "glsl":
        compile_glsl(sources, tmp_path)
    elif target == "wgsl":
        compile_wgsl(sources)


def test_files_of_a_program_may_define_the_same_intrinsics(tmp_path: Path) -> None:
    """All of them twice, as in two files that a driver compiles as one program."""
    need_programs("clang")
    found = defined(INTRINSICS, OPENCL)
    twice: list[str] = []
    for kernel in ("first_000", "second_001"):
        twice += definitions(INTRINSICS, OPENCL, 16, kernel)
        twice += (f"#undef {entry.name}" for entry in found)
    file = tmp_path / "twice.cl"
    file.write_text("\n".join(["#pragma OPENCL EXTENSION cl_khr_fp16 : enable", *twice]))
    assert not errors_of_opencl(file, "-DAVX512_VNNI", "-DAVX512VBMI")


@pytest.mark.parametrize("part", range(PARTS))
def test_opencl_of_gpus_is_valid(part: int, tmp_path: Path) -> None:
    """No GPU here has a driver of OpenCL, and processors get other kernels."""
    need_programs("clang")
    operators = list(families().values())[part::PARTS]
    cases = tuple(case for found in operators for case in found[::CHECKED])
    for item in every_kernel(cases, "opencl", "gpu", (0, 1)):
        # As one file, since most of the time goes into what OpenCL declares.
        (tmp_path / f"{item.rank}.cl").write_text("\n".join(item.model.sources.values()))
    assert not errors_of_opencl(*tmp_path.iterdir())


def errors_of_opencl(*files_and_defines: Path | str) -> str:
    """What clang says of files that are no OpenCL C; "" if they are."""
    resources = ("-resource-dir", clang("-print-resource-dir").stdout.strip())
    headers = ("-internal-isystem", f"{resources[1]}/include")
    listed = sorted(map(str, files_and_defines))
    checked = clang("-cc1", *resources, *headers, *SYNTAX_OF_OPENCL, *listed)
    return checked.stderr[:2000] if checked.returncode else ""


def clang(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("clang", *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_both_languages_have_the_same_operators() -> None:
    """Whatever one language runs, the other runs too, with the same kernels in the same order."""
    compiled = model({cases[0].name: cases[0].value for cases in families().values()})
    plans = [
        pipeline.build(compiled.content, Options(target=target, device="gpu", fallback="none")).plan
        for target in ("opencl", "glsl")
    ]
    kernels = [[(d.label, plan.kernels[d.kernel].name) for d in plan.dispatches] for plan in plans]
    assert kernels[0] == kernels[1]
    assert len(kernels[0]) > len(families())


def begins_with_what_it_computes(file: str, source: str) -> None:
    lines = source.splitlines()
    if file.endswith(".comp"):
        assert lines.pop(0) == "#version 310 es"
    comment = [line for line in lines if line.startswith("// ")]
    assert lines[: len(comment)] == comment, f"{file}: comments lie elsewhere, too"
    number, stem = re.match(r"\d_(\d+)_(\w+)\.", file).groups()  # type: ignore[union-attr]
    assert comment[0].startswith(f"// {stem}_{number}: ")
    text = "\n".join(comment).replace("\n//     ", " ")  # long lines are continued
    assert re.search(r"^// \w+: writes \w+ \[[\d, ]*\], ", text, re.M), file
    assert re.search(r"^// grid \d+ x \d+ x \d+ in groups of \d+ x \d+ x \d+$", text, re.M)
    use = re.search(r"^// (operators?) ((?:\d+ \w|tflgpu\.).*?): ", text, re.M)
    assert use and (use[1] == "operators") == (" + " in use[2])
    assert file.endswith(".wgsl") or "@" not in source
    assert "{{" not in source


def begins_with_what_it_merges(source: str) -> None:
    merged = re.match(
        r"// persistent_\d+: dispatches (\d+) to (\d+) in one launch\n// counters: ", source
    )
    assert merged
    steps = re.findall(r"^  \{ \d[\d, ]* \},  // dispatch (\d+): (?:\d+ \w|tflgpu\.)", source, re.M)
    assert [int(step) for step in steps] == list(range(int(merged[1]), int(merged[2]) + 1))
    assert source.count("__kernel ") == 1 and "__local " not in source
    assert "@" not in source and "{{" not in source


def compile_glsl(sources: dict[str, str], folder: Path) -> None:
    need_programs("glslangValidator")
    for file, source in sources.items():
        (folder / file).write_text(source)
    files = sorted(folder.iterdir())
    result = subprocess.run(
        ["glslangValidator", *map(str, files)], capture_output=True, text=True, check=False
    )
    errors = [line for line in result.stdout.splitlines() if "ERROR" in line]
    assert result.returncode == 0, "\n".join(errors[:20])


def compile_wgsl(sources: dict[str, str]) -> None:
    """By naga, the compiler of wgpu, within what every device has."""
    need_packages("wgpu")
    import wgpu

    try:
        device = wgpu.gpu.request_adapter_sync().request_device_sync()
    except RuntimeError as error:
        unavailable(f"no adapter of WebGPU: {error}")
    for file, source in sources.items():
        try:
            device.create_shader_module(code=source)
        except wgpu.GPUError as error:
            pytest.fail(f"{file}: {error}\n{source}")


@pytest.mark.parametrize(("target", "profile"), TARGETS)
def test_compiling_twice_gives_the_same_folder(
    target: TargetName, profile: str, tmp_path: Path
) -> None:
    cases = CASES[::31]
    compiled = model({case.name: case.value for case in cases})
    folders = [
        tflgpu.compile(compiled.content, tmp_path / name, target=target, device=profile)
        for name in ("first", "second")
    ]
    contents = [
        {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        for folder in folders
    ]
    assert len(contents[0]) > 30
    assert contents[0] == contents[1]


def test_equal_kernels_are_written_once() -> None:
    alike = {name: call("CONV_2D", x(1, 5, 7, 3), *WEIGHTS, **window()) for name in ("a", "b")}
    plan = pipeline.build(model(alike).content, Options(device="cpu")).plan
    kernels = [d.kernel for d in plan.dispatches if d.label.startswith("CONV_2D")]
    assert len(kernels) == 2 and len(set(kernels)) == 1
