"""Kernels in OpenCL C that compute in half precision: Clang takes them. Few drivers have halves."""

import subprocess
from pathlib import Path

import pytest
from cases import families
from compiled_cases import every_kernel
from devices import unavailable

from tflgpu.compiler.tools.machine_code.programs import newest_clang

LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
# Some of the templates that compute in half there, from images and with sub-groups.
PROFILES = {
    "adreno": {"conv", "conv_1x1", "conv_shared", "split_sums"},
    "intel_gpu": {"conv", "conv_1x1", "conv_shared", "split_sums", "transpose_conv_block"},
}
TARGET = ("-target", "amdgcn-amd-amdhsa", "-Xclang", "-target-cpu", "-Xclang", "gfx1030")
OPTIONS = ("-x", "cl", "-cl-std=CL1.2", "-nogpulib", "-fsyntax-only", *TARGET)
REMARK = "// multiplies and adds in half precision\n"


def refused(text: str, folder: Path) -> str:
    """What Clang has against a source; "" if it takes it."""
    clang = newest_clang()
    if clang is None:
        unavailable("not installed: clang")
    source = folder / "kernel.cl"
    source.write_text(text, encoding="utf-8")
    done = subprocess.run([clang, *OPTIONS, source], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("profile", PROFILES)
def test_compilers_take_kernels_in_half(profile: str, tmp_path: Path) -> None:
    templates = set()
    for operator in LAYERS:
        for item in every_kernel(families()[operator], "opencl", profile, (1, 5), "f16"):
            texts = [text for text in item.model.sources.values() if REMARK in text]
            templates |= {text.split(":")[0][len("// ") : -len("_000")] for text in texts}
            assert refused("".join(texts), tmp_path) == ""
    assert templates >= {"depthwise_conv", "transpose_conv", *PROFILES[profile]}


def test_a_mixture_of_halves_and_floats_is_refused(tmp_path: Path) -> None:
    text = "__kernel void mixed(__global half4* y) { y[0] = (float4)(1.0f); }"
    assert "half4" in refused(text, tmp_path)
