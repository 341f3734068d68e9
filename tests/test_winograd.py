"""3x3 convolutions by Winograd's algorithm: in both languages, with all slice widths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import conv, window
from conftest import Attached
from expressions import Value, call, known, model
from test_variants import pooled
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, driver
from tflgpu.compiler.litert import Reference

DEVICES = Path(driver.__file__).parent / "devices"
OWN_MEMORY = (
    ("heavy_group = 32", "heavy_group = 1"),
    ("local_memory = 16384", "local_memory = 32768"),
    ("winograd_channels = 0", "winograd_channels = 1"),
)
"""What lets work-items of a GPU have memory of their own: in GLSL, too, the kernel can run."""


def profiles(target: str, folder: Path) -> list[str]:
    """Profiles with which the kernel is chosen."""
    if target == "opencl":
        return ["cpu", "cpu_avx2", "cpu_avx512"]
    text = (DEVICES / "gpu.toml").read_text()
    for old, new in OWN_MEMORY:
        assert old in text
        text = text.replace(old, new)
    own = folder / "own.toml"
    own.write_text(text)
    return [str(own)]


def network() -> Value:
    """Edges of every kind, several pictures, and all that a store may do besides."""
    image = pooled(2, 15, 18, 19)
    residual = call("RELU6", call("ADD", conv(image, (19, 19)), image))
    pads = known(np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.int32))
    padded = conv(call("PAD", residual, pads), (35, 19), **window("VALID"))
    swish = call("MUL", padded, call("LOGISTIC", padded))
    return conv(swish, (9, 35), **window("VALID"))


def test_numbers_agree(attached: Attached, tmp_path: Path) -> None:
    compiled = model({"y": network()})
    (expected,) = Reference(compiled.content).run(compiled.inputs)
    for name in profiles(attached.target, tmp_path):
        options = Options(target=attached.target, device=name, fallback="none")
        program = driver.build(compiled.content, options)
        files = [program.plan.kernels[d.kernel].file for d in program.plan.dispatches]
        assert sum("winograd" in file for file in files) == 3, name
        folder = driver.store(program, tmp_path)
        with tflgpu.load(folder, device=attached.device, store_binaries=False) as session:
            session.poison()
            (found,) = session.run(compiled.inputs).values()
        assert difference(found, expected, tolerance=1e-5) is None, name


@pytest.mark.parametrize("channels", [32, 256])
def test_errors_are_small(channels: int, opencl_device: str, tmp_path: Path) -> None:
    """Against LiteRT, with weights that keep the size of the values."""
    random = np.random.default_rng(channels)
    weights = random.standard_normal((16, 3, 3, channels)) / (3 * channels**0.5)
    image = pooled(1, 16, 16, channels)
    zeros = np.zeros(16, np.float32)
    value = call("CONV_2D", image, known(weights.astype(np.float32)), known(zeros), **window())
    compiled = model({"y": value})
    folder = tflgpu.compile(compiled.content, tmp_path, device="cpu_avx512")
    with tflgpu.load(folder, device=opencl_device, store_binaries=False) as session:
        files = [kernel.file for kernel in session.plan.kernels]
        (found,) = session.run(compiled.inputs).values()
    assert any("winograd" in file for file in files)
    (expected,) = Reference(compiled.content).run(compiled.inputs)
    assert difference(found, expected, tolerance=5e-6) is None
