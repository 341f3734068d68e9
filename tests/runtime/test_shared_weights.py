"""Layers of one row, of few and of many: kernels of all of them read the same weights."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached
from graphs import Value, call, model, w, x

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import Precision, TargetName
from tflgpu.runtime import Session

INPUTS, OUTPUTS = 128, 120  # Whole slices of inputs; blocks of slices of outputs that are not full.
ROWS = (1, 6, 100)


def layer(value: Value | None = None) -> Value:
    rows = value or x(1, INPUTS)
    return call("FULLY_CONNECTED", rows, w(OUTPUTS, INPUTS), w(OUTPUTS), weights_format="DEFAULT")


CONTENT = model({"y": layer()}).content
# One that reads the other's result as it stores.
GATED = model(
    {"y": call("MUL", layer(rows := x(1, INPUTS)), call("LOGISTIC", layer(rows)))}
).content
SHAPES = tuple(("y/in0", (rows, INPUTS)) for rows in ROWS)


@pytest.fixture
def session(attached: Attached, tmp_path: Path) -> Iterator[Session]:
    # Work-items of the profile for GPUs share the sums of a single row.
    options = Options(attached.target, device="gpu", input_shapes=SHAPES)
    path = pipeline.write(pipeline.build(CONTENT, options), tmp_path)
    with tflgpu.load(path, device=attached.device) as opened:
        yield opened


def test_each_agrees_with_litert(session: Session) -> None:
    for name, shape in SHAPES:
        values = np.random.default_rng(shape[0]).standard_normal(shape, np.float32)
        (expected,) = Reference(CONTENT, input_shapes=[shape]).run([values])
        session.poison()
        assert difference(session.run({name: values})["y"], expected) is None


@pytest.mark.parametrize(
    "target, device, precision",
    [
        ("opencl", "cpu", "f32"),
        ("opencl", "cpu_avx512_bytes", "f32"),
        ("opencl", "adreno", "f32"),
        ("opencl", "nvidia", "f16"),
        ("glsl", "mali", "f32"),
        ("opencl", "amd_rdna2", "f16"),
        ("wgsl", "webgpu", "f32"),
    ],
)
@pytest.mark.parametrize("content", [CONTENT, GATED], ids=["a layer", "gated layers"])
def test_they_are_stored_once(
    content: bytes, target: TargetName, device: str, precision: Precision
) -> None:
    def stored(*shapes: tuple[str, tuple[int, int]]) -> int:
        options = Options(target, precision, device, input_shapes=shapes)
        return len(pipeline.build(content, options).weights)

    assert stored(*SHAPES) < 1.1 * stored(SHAPES[0])
