"""What OpenGL drivers compile kernels to: kept where they tell it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plans import chain, check, kernel

from tflgpu.runtime import PlanError, load
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.opengl import egl
from tflgpu.runtime.opengl.info import read_limits
from tflgpu.runtime.plan.kernels import Kernel
from tflgpu.runtime.plan.running import Limits


def test_identical_sources_are_compiled_once(
    tmp_path: Path, opengl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tflgpu.runtime.opengl.device import OpenGLDevice

    parts, file = chain(target="glsl"), "kernels/003_add.comp"
    source = parts.sources["kernels/000_add.comp"]
    parts = parts.replacing(kernels=(*parts.plan.kernels, kernel("add", file, source)))
    folder = replace(parts, sources={**parts.sources, file: source}).write(tmp_path)
    compiled: list[str] = []
    original = OpenGLDevice._compile

    def compile_source(self: Any, kernel: Kernel, source: str) -> Any:
        compiled.append(source)
        return original(self, kernel, source)

    monkeypatch.setattr(OpenGLDevice, "_compile", compile_source)
    for _ in range(2):
        check(folder, opengl_device)
    assert len(compiled) == 3


@pytest.mark.parametrize("absent", ["glGetProgramBinary", "glGetIntegerv"])
def test_a_driver_that_tells_no_binaries(
    tmp_path: Path, opengl_device: str, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    """Its kernels are compiled at each load, and nothing is stored or said."""
    original = egl.Context.load
    monkeypatch.setattr(
        egl.Context, "load", staticmethod(lambda name: 0 if name == absent else original(name))
    )
    folder = chain(target="glsl").write(tmp_path)
    for _ in range(2):
        check(folder, opengl_device)
    assert not (folder / BINARIES).exists()


def test_a_plan_with_more_launches_than_the_device_takes(
    tmp_path: Path, opengl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binaries hold for kernels, not for how a plan launches them."""
    folder = chain(target="glsl").write(tmp_path)
    check(folder, opengl_device)

    def limits(context: egl.Context) -> Limits:
        return replace(read_limits(context), group_counts=(1, 1, 1))

    monkeypatch.setattr("tflgpu.runtime.opengl.info.read_limits", limits)
    with pytest.raises(PlanError, match="13 work-groups along x, but the limit of"):
        load(folder, device=opengl_device)
