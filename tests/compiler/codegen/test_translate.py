"""Kernels for other runtimes: Vulkan's SPIR-V and Metal's source, made for every kernel."""

import re
import subprocess
from pathlib import Path

import pytest
from devices import need_programs
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, build
from tflgpu.compiler.codegen.translate import ToolError, assemble, translate
from tflgpu.compiler.errors import RenderError
from tflgpu.runtime.errors import DeviceError
from tflgpu.runtime.plan.file import from_bytes, to_bytes
from tflgpu.runtime.plan.kernels import Kernel

# A block of Metal, which is named after the argument.
BUFFER = re.compile(r"struct (\w+)_buffer\n")
SPIRV_MAGIC = b"\x03\x02\x23\x07"


def test_vulkan_kernels_come_with_valid_modules(tmp_path: Path) -> None:
    need_programs("glslangValidator", "spirv-val")
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", target="vulkan", fallback="none")
    plan = from_bytes((folder / "plan.tflgpu").read_bytes())
    assert len(plan.companions) == len(plan.kernels) > 5
    for kernel in plan.kernels:
        source = (folder / kernel.file).read_text()
        assert source.startswith("#version 450\n// ") and "precision" not in source
        module = (folder / kernel.file).with_suffix(".spv")
        assert module.read_bytes()[:4] == SPIRV_MAGIC
        subprocess.run(["spirv-val", str(module)], check=True)
    assert from_bytes(to_bytes(plan)) == plan


def test_loops_over_registers_are_unrolled_by_a_hint_or_written_out() -> None:
    need_programs("glslangValidator")
    hinted, written = (
        build(DIGITS_MODEL, Options(target=target, device="gpu", fallback="none")).sources
        for target in ("vulkan", "glsl")
    )
    assert hinted.keys() == written.keys()
    loops = {file for file, text in hinted.items() if "[[unroll]]\n" in text}
    assert len(loops) > 2
    for file in loops:
        assert "sum[p" not in written[file]
    extension = "#extension GL_EXT_control_flow_attributes : require"
    with_hints = {file for file, text in hinted.items() if "unroll]]" in text}
    assert {file for file, text in hinted.items() if extension in text} == with_hints
    assert with_hints < hinted.keys()
    assert not any("unroll" in text for text in written.values())


@pytest.mark.parametrize(("device", "hinted"), [("gpu", True), ("cpu", False)])
def test_compilers_of_gpus_are_told_to_keep_loops(device: str, hinted: bool) -> None:
    options = Options(target="opencl", device=device, fallback="none")
    sources = build(DIGITS_MODEL, options).sources.values()
    assert any("#pragma unroll 1\n" in text for text in sources) == hinted


def test_metal_sources_are_made_for_every_kernel(tmp_path: Path) -> None:
    need_programs("glslangValidator", "spirv-cross")
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path / "cache", target="metal", fallback="none")
    plan = from_bytes((folder / "plan.tflgpu").read_bytes())
    assert {Path(kernel.file).suffix for kernel in plan.kernels} == {".metal"}
    for kernel in plan.kernels:
        source = (folder / kernel.file).read_text()
        assert source.startswith(f"// {Path(kernel.file).stem[4:]}_{Path(kernel.file).stem[:3]}: ")
        assert f"kernel void {kernel.name}(" in source
        for buffer in BUFFER.findall(source):
            assert f"& {buffer} [[buffer(" in source and f"{buffer}.values[" in source
        assert not re.search(r"\b_\d+\b", source)
    sources = [(folder / kernel.file).read_text() for kernel in plan.kernels]
    for declared in ("bool holds;", "int number = ", "float value;"):
        assert any(declared in source for source in sources), declared
    with pytest.raises(DeviceError, match="kernels for opencl, glsl and wgsl, not for metal"):
        tflgpu.load(folder)


def test_the_kernel_at_fault_is_named() -> None:
    need_programs("glslangValidator")
    sources = {f"kernels/{n:03}_k.comp": "#version 450\nvoid main() {}\n" for n in range(5)}
    kernels = tuple(Kernel("main", file, bytes(32), (1, 1, 1), 0) for file in sources)
    found = translate(kernels, sources, dict.fromkeys(sources, "// k"), "vulkan")
    assert list(found.companions) == [f"kernels/{n:03}_k.spv" for n in range(5)]
    sources["kernels/003_k.comp"] = "#version 450\nvoid main() { nothing = 1; }\n"
    with pytest.raises(RenderError, match=r"^glslangValidator failed on kernels/003_k\.comp:"):
        translate(kernels, sources, dict.fromkeys(sources, "// k"), "vulkan")


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match="apt install glslang-tools"):
        assemble("#version 450\nvoid main() {}\n", "kernels/000_nothing.comp")
