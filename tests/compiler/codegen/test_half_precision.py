"""precision="f16": activations stored in half precision, computed in single, in both languages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import window
from graphs import call, model, w, x
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler.accessors import HalfAccessor
from tflgpu.compiler.devices import profile
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import Precision, TargetName
from tflgpu.compiler.target import Target

PRECISIONS: tuple[Precision, ...] = ("f32", "f16")
TOLERANCE = 1e-2


@pytest.mark.parametrize(
    "target, profile",
    [
        ("opencl", "cpu"),
        ("opencl", "cpu_avx512"),
        ("opencl", "gpu"),
        ("opencl", "gles31"),
        ("glsl", "gpu"),
    ],
)
def test_half_storage_agrees_with_litert(
    target: TargetName, profile: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    device = request.getfixturevalue("opengl_device") if target == "glsl" else "auto"
    image = np.random.default_rng(3).random((1, 8, 8, 1), np.float32)
    single, half = (
        tflgpu.compile(
            *(DIGITS_MODEL, tmp_path), target=target, precision=precision, device=profile
        )
        for precision in PRECISIONS
    )
    assert single != half
    with tflgpu.load(half, device=device) as session:
        session.poison()
        scores = session.run(image)["probabilities"]
        stored = [tensor for tensor in session.plan.tensors if tensor.stored == "float16"]
        assert stored and all(tensor.lanes for tensor in stored)
        planned = session.plan.memory.planned
        inner = session.read(stored[-1].name)
        assert inner.shape == stored[-1].shape and np.isfinite(inner).all()
    with tflgpu.load(single, device=device) as session:
        assert planned < session.plan.memory.planned
    expected = Reference(DIGITS_MODEL).run([image])[0]
    assert np.abs(scores - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max())
    assert scores.argmax() == expected.argmax()


def test_half_accessors_name_no_language() -> None:
    view = HalfAccessor.of("x", (1, 5, 7, 11), Target(profile("gpu"), precision="f16"), set())
    assert view.read("0", "gy", "gx", "gs") == "load_half(x, (gs * 5 + gy) * 7 + gx)"
    assert view.assign("i", "v") == "store_half(x, i, v);"
    assert view.lane("0", "0", "0", "c") == "half_lane(x, c / 4 * 5 * 7, c % 4)"


def test_half_groups_find_their_channels(opencl_device: str, tmp_path: Path) -> None:
    image = call("ABS", x(1, 5, 7, 32))
    convolution = call("CONV_2D", image, w(32, 3, 3, 16), w(32), **window())
    grouped = model({"value": call("ABS", convolution)})
    path = tflgpu.compile(grouped.content, tmp_path, device="gpu", precision="f16")
    with tflgpu.load(path, device=opencl_device) as session:
        found = session.run(grouped.inputs)["value"]
    expected = Reference(grouped.content).run(grouped.inputs)[0]
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()
