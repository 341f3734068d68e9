"""The devices on which exported models run."""

from __future__ import annotations

import pytest
from devices import opencl_devices, unavailable
from exporting import Found, exported
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, pipeline


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The first device of the system's drivers; those from PyPI are known to Python only."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    content = DIGITS_MODEL.read_bytes()
    compiled = pipeline.build(content, Options(target="opencl", device="gpu", fallback="none"))
    demo = exported(compiled, tmp_path_factory.mktemp("digits"))
    infos = {str(info): info for info in tflgpu.devices()}
    for device in opencl_devices():
        platform = infos[device].platform
        if not demo.run("--device", platform, content=bytes(8 * 8 * 4)).returncode:
            return Found(device, platform)
    unavailable("a program finds no OpenCL driver of the system")


@pytest.fixture(scope="session")
def gles() -> Found:
    """The best OpenGL device."""
    return best("glsl")


@pytest.fixture(scope="session")
def webgpu() -> Found:
    """The best WebGPU device."""
    return best("wgsl")


def best(target: str) -> Found:
    """The best device that runs the kernels of a target."""
    for info in tflgpu.devices():
        if info.target == target:
            return Found(str(info), info.name)
    unavailable(f"no device that runs {target} is present")
