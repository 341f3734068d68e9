"""What compilers of GPUs make of OpenCL C: figures of kernels that are known to have them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from commands import as_json, invoke
from devices import unavailable
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler.codegen.translate import ToolError
from tflgpu.compiler.tools.machine_code import COMPILERS, MachineCode, Module, programs, ptxas

NAMES = ("ptxas", "amdgcn", "ocloc")
# Whose tests are skipped where they are not installed, even if everything else must be present.
OPTIONAL = ("ocloc",)

INDEXED = b"""
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void spilling(__global float* y) {
  float held[300];
  for (int i = 0; i < 300; i++) held[i] = y[i];
  for (int i = 0; i < 300; i++) y[i] = held[(int)y[i]];
}
"""
MANY = b"""
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void spilling(__global float* y) {
  float held[300];
  int at = get_global_id(0);
  #pragma unroll
  for (int i = 0; i < 300; i++) held[i] = y[at + 64 * i];
  #pragma unroll
  for (int i = 0; i < 300; i++) y[at + 64 * i] = held[299 - i];
}
"""
# What each compiler cannot keep in registers.
SPILLING = {"ptxas": INDEXED, "amdgcn": INDEXED, "ocloc": MANY}
PRODUCTS = b"""
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void products(__global const float* a, __global const float* b, __global float* y) {
  int i = get_global_id(0);
  y[i] = a[i] * b[i] + (a[i + 64] * b[i + 64] + 1.0f);
}
"""


def compiled(name: str, **sources: bytes) -> Mapping[str, MachineCode]:
    modules = {key: Module(source, 1, (64, 1, 1)) for key, source in sources.items()}
    try:
        return COMPILERS[name].compile(modules)
    except ToolError as error:
        if "apt install" not in str(error):
            raise
        if name in OPTIONAL:
            pytest.skip(str(error))
        unavailable(str(error))


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_read(name: str) -> None:
    found = compiled(name, spilling=SPILLING[name], products=PRODUCTS)
    assert found["spilling"].spills > 0
    code = found["products"]
    # A vector of 32 work-items is two of 16 on Intel.
    halves = code.multiply_adds // 2
    assert halves in (1, 2) and code.loads == 4 * halves
    assert code.spills == code.branches == 0 and 0 < code.registers <= 128
    assert code.lanes in (16, 32) and code.waves >= 8
    assert code.multiply_adds + code.loads < code.instructions < 100
    assert len(code.text.splitlines()) >= code.instructions


@pytest.mark.slow
def test_inspect_shows_them(tmp_path: Path) -> None:
    compiled("amdgcn")
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path, device="amd")
    found = as_json("inspect", folder, "--compiler", "amdgcn")
    assert len(found) > 5
    for kernel, code in found.items():
        assert code["spills"] == 0, f"{kernel} spills"
        assert code["loads"] + code["uniform_loads"] > 0
    assert sum(code["multiply_adds"] for code in found.values()) > 20


def test_a_refused_kernel_is_named() -> None:
    compiled("amdgcn")
    with pytest.raises(ToolError, match="failed on broken") as raised:
        compiled("amdgcn", broken=b"__kernel void broken() { none(); }")
    assert "none" in str(raised.value)


def test_compilers_are_told_what_drivers_are() -> None:
    compiled("ptxas")
    options = "-cl-mad-enable -cl-denorms-are-zero -w"
    plain, fast = (Module(PRODUCTS, 3, (64, 1, 1), told) for told in ("", options))
    found = COMPILERS["ptxas"].compile({"plain": plain, "fast": fast})
    assert "FFMA.FTZ" in found["fast"].text
    assert "FTZ" not in found["plain"].text


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LONGEST", 0.1)
    with pytest.raises(ToolError, match=r"sleep took more than 0\.1 s for products"):
        programs.run(["sleep", "30"], "products")


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "LIBRARY", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(ptxas, "find_spec", lambda name: None)
    for name, advice in {
        "amdgcn": "apt install clang-19 libclc-19",
        "ptxas": "pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm",
        "ocloc": "apt install intel-opencl-icd",
    }.items():
        with pytest.raises(ToolError, match=advice):
            COMPILERS[name].compile({"products": Module(PRODUCTS, 3, (64, 1, 1))})


def test_only_the_language_that_it_takes(tmp_path: Path) -> None:
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path, device="gpu", target="glsl")
    result = invoke("inspect", folder, "--compiler", "ptxas", code=1)
    assert "compile the model with --target opencl" in result.stderr
