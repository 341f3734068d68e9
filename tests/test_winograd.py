"""3x3 convolutions by Winograd's algorithm: in both languages, with all slice widths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import conv, window
from conftest import Attached
from expressions import Value, call, known, model, x
from test_variants import pooled
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.pipeline import rewrite

GPU = (Path(pipeline.__file__).parent / "devices" / "gpu.toml").read_text()
FEW_CHANNELS = ("winograd_channels = 64", "winograd_channels = 8")
FEW_SQUARES = ("winograd_squares = 32", "winograd_squares = 1")
OWN_MEMORY = (
    ("heavy_group = 32", "heavy_group = 1"),
    ("local_memory = 16384", "local_memory = 32768"),
)
"""What lets work-items of a GPU have memory of their own: in GLSL, too, the one kernel can run."""


def gpu(path: Path, *changes: tuple[str, str]) -> str:
    """The path of a profile like that of GPUs."""
    text = GPU
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return str(path)


def profiles(target: str, folder: Path) -> dict[str, int]:
    """Profiles with which the algorithm is chosen, each with the kernels of a convolution."""
    processors = ["cpu_avx2", "cpu_avx512"] if target == "opencl" else []
    one = gpu(folder / "one.toml", FEW_CHANNELS, FEW_SQUARES, *OWN_MEMORY)
    three = gpu(folder / "three.toml", FEW_CHANNELS, FEW_SQUARES)
    return {**dict.fromkeys(processors, 1), one: 1, three: 3}


def network() -> Value:
    """Edges of every kind, several pictures, and all that a store may do besides."""
    image = pooled(2, 15, 18, 19)
    residual = call("RELU6", call("ADD", conv(image, (19, 19)), image))
    pads = known(np.array([[0, 0], [1, 2], [0, 3], [0, 0]], np.int32))
    padded = conv(call("PAD", residual, pads), (35, 19), **window("VALID"))
    return call("MUL", padded, call("LOGISTIC", padded))


def test_numbers_agree(attached: Attached, tmp_path: Path) -> None:
    compiled = model({"y": network()})
    (expected,) = Reference(compiled.content).run(compiled.inputs)
    for name, steps in profiles(attached.target, tmp_path).items():
        options = Options(target=attached.target, device=name, fallback="none")
        program = pipeline.build(compiled.content, options)
        files = [program.plan.kernels[d.kernel].file for d in program.plan.dispatches]
        assert sum("winograd" in file for file in files) == 2 * steps, name
        folder = pipeline.store(program, tmp_path)
        with tflgpu.load(folder, device=attached.device, store_binaries=False) as session:
            session.poison()
            (found,) = session.run(compiled.inputs).values()
        assert difference(found, expected, tolerance=1e-5) is None, name


def test_the_steps_of_a_convolution() -> None:
    value = call("RELU6", conv(x(1, 21, 24, 64), (70, 64)))
    graph = read(model({"y": value}).content)
    rewrite(graph, profile("gpu"))
    lines = [line.split(" window=")[0] for line in str(graph).splitlines()]
    assert lines == [
        "y/terms = tflgpu.winograd_input(y/in0) size=(21,24)",
        "y/sums = tflgpu.winograd_product(y/terms, y/constant0/terms)",
        "y = tflgpu.winograd_output(y/sums, none, y/constant1) size=(21,24) | RELU6(%0)",
    ]
    assert [tensor.shape for tensor in graph.ops[2].reads[:1]] == [(1, 36, 36, 70)]


@pytest.mark.parametrize(
    ("value", "name", "reason"),
    [
        (conv(x(1, 21, 24, 63), (64, 63)), "gpu", "63 and 64 channels are too few"),
        (
            conv(x(1, 684, 683, 64), (64, 64)),
            "gpu",
            "269485056 bytes of terms are more than a buffer may have",
        ),
        (conv(x(1, 12, 40, 64), (64, 64)), "gpu", "30 squares of 4x4 outputs are too few"),
        (conv(x(1, 1, 128, 64), (64, 64)), "gpu", "squares of 4x4 outputs would mostly be empty"),
        (conv(x(1, 21, 24, 128), (128, 64)), "gpu", "the channels are split into groups or"),
        (conv(x(1, 48, 48, 64), (64, 64), **window("SAME", (2, 2))), "gpu", "the window has a"),
        (conv(x(1, 21, 24, 64), (64, 64)), "cpu", "one kernel does all steps"),
    ],
)
def test_it_declines(value: Value, name: str, reason: str) -> None:
    graph = read(model({"y": value}).content)
    events = rewrite(graph, profile(name))
    said = [event.reason for event in events if event.rule == "divide_by_winograd"]
    assert len(said) == 1 and said[0] is not None and said[0].startswith(reason)


def test_half_precision_stays_out_of_it() -> None:
    value = conv(x(1, 21, 24, 64), (64, 64))
    options = Options(device="gpu", precision="f16")
    files = pipeline.build(model({"y": value}).content, options).sources
    assert not any("winograd" in file for file in files)


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
