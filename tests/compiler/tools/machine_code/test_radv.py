"""Kernels for GPUs, as the compiler of one takes them: nothing spills, loops are unrolled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import as_json, invoke
from devices import need_programs, unavailable
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, build
from tflgpu.compiler.codegen.spirv import ToolError, assemble
from tflgpu.compiler.tools.machine_code import MachineCode, Module, radv
from tflgpu.compiler.tools.machine_code.radv import compile_modules

SPILLING = """#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer y_buffer { float y[]; };
void main() {
  float held[300];
  for (int i = 0; i < 300; i++) held[i] = y[i];
  for (int i = 0; i < 300; i++) y[i] = held[int(y[i])];
}
"""
NETWORKS = (
    "mobilenet_v1/mobilenet_v1_0.25_224_1_default_1.tflite",
    "tiny_mlperf/trainedRes.tflite",
)


def compiled(modules: dict[str, Module]) -> dict[str, MachineCode]:
    need_programs("glslangValidator")
    try:
        return compile_modules(modules)
    except ToolError as error:
        unavailable(str(error))


def kernels_of(model: Path, profile: str) -> dict[str, MachineCode]:
    made = build(model, Options(target="vulkan", device=profile))
    return compiled(
        {
            kernel.name: Module(
                made.companions[kernel.file.replace(".comp", ".spv")],
                kernel.parameters,
                kernel.group,
            )
            for kernel in made.plan.kernels
        }
    )


def test_a_spill_is_seen() -> None:
    code = compiled({"spilling": Module(assemble(SPILLING, "spilling"), 1, (64, 1, 1))})["spilling"]
    assert code.spills > 0 and code.loads > 0 and "s_endpgm" in code.text


def test_kernels_of_networks_spill_nothing() -> None:
    folder = os.environ.get("TFLGPU_MODELS")
    models = [Path(folder, "networks", name) for name in NETWORKS] if folder else []
    for model in [DIGITS_MODEL, *models]:
        for name, code in kernels_of(model, "amd").items():
            assert code.spills == 0, f"{model}: {name} spills"
            assert code.registers <= 128, f"{model}: {name} leaves no room for a second wave"


def test_inspect_shows_the_compiler_s_figures(tmp_path: Path) -> None:
    compiled({})
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path, target="vulkan", device="amd")
    found = as_json("inspect", folder, "--compiler", "radv")
    text = invoke("inspect", folder, "--compiler", "radv").stdout
    assert "multiply adds" in text and len(found) > 5
    for name, code in found.items():
        assert name in text and code["spills"] == 0 and code["instructions"] > 0


def test_kernels_of_another_language_are_an_error(tmp_path: Path) -> None:
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path, device="gpu")
    result = invoke("inspect", folder, "--compiler", "radv", code=1)
    assert "compile the model with --target vulkan" in result.stderr


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(radv, "DRIVERS", tmp_path)
    with pytest.raises(ToolError, match="apt install mesa-vulkan-drivers"):
        compile_modules({})
