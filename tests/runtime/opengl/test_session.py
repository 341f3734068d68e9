"""Sessions on OpenGL, with hand-written plans and with compiled models."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import difference, run
from paths import DIGITS_MODEL
from plans import Opener, chain, opener, shader, single

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.plan.records import TensorInfo
from tflgpu.runtime.plan.storage import DEVICE_TYPES, WORD, byte_size, whole_words


@pytest.fixture
def opened(tmp_path: Path, opengl_device: str) -> Opener:
    return opener(tmp_path / "cache", opengl_device)


GROUPS = """#version 310 es
precision highp float;
layout(local_size_x = 5, local_size_y = 3, local_size_z = 2) in;
layout(std430, binding = 0) readonly buffer x_buffer { float x[]; };
layout(std430, binding = 1) buffer y_buffer { float y[]; };
void main() {
    uvec3 at = gl_GlobalInvocationID;
    uint i = (at.z * 9u + at.y) * 35u + at.x;
    y[i] = 100.0 * x[i] + float(gl_LocalInvocationIndex);
}
"""


def test_groups_in_three_dimensions(opened: Opener) -> None:
    """The grid counts work-items; OpenGL is told groups."""
    shape = (4, 9, 35)
    parts = single(GROUPS, [TensorInfo("x", shape, "float32")], TensorInfo("y", shape, "float32"))
    launch = replace(parts.plan.dispatches[0], grid=shape[::-1])
    parts = parts.replacing(
        kernels=(replace(parts.plan.kernels[0], group=(5, 3, 2)),), dispatches=(launch,)
    )
    x = np.random.default_rng(7).integers(1, 100, shape).astype(np.float32)
    z, y, column = np.indices(shape)
    with opened(parts) as session:
        expected = 100 * x + (z % 2 * 3 + y % 3) * 5 + column % 5
        np.testing.assert_array_equal(session.run(x)["y"], expected)


@pytest.mark.parametrize("dtype", DEVICE_TYPES)
def test_each_type_comes_back_unchanged(opened: Opener, dtype: str) -> None:
    x = np.random.default_rng(2).integers(0, 2 if dtype == "bool" else 100, (3, 5)).astype(dtype)
    info = TensorInfo("x", x.shape, dtype)
    source = shader("x y", "y[i] = x[i];")
    if DEVICE_TYPES[dtype] != "float32":
        source = re.sub(r"float (x|y)\[\]", r"int \1[]", source)
    words = whole_words(byte_size(info)) // WORD
    with opened(single(source, [info], replace(info, name="y"), words)) as session:
        y = session.run(x)["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_tensors_may_be_empty(opened: Opener) -> None:
    """A tensor without elements has no bytes to copy; other inputs are none the worse."""
    infos = [TensorInfo("none", (3, 0), "float32"), TensorInfo("x", (5,), "float32")]
    source = shader("none x y", "y[i] = 2.0 * x[i];")
    x = np.arange(1, 6, dtype=np.float32)
    with opened(single(source, infos, TensorInfo("y", (5,), "float32"), 5)) as session:
        np.testing.assert_array_equal(session.run([np.empty((3, 0), np.float32), x])["y"], 2 * x)


def test_launches_carry_barriers(opened: Opener) -> None:
    with opened(chain(target="glsl")) as session:
        (commands,) = session._execution.commands.segments
        assert [command.barrier for command in commands] == [False, True, True]


def agrees_with_litert(model: Path, cache: Path, device: str) -> None:
    compiled = pipeline.build(model, Options(target="glsl", fallback="none"))
    random = np.random.default_rng(11)
    inputs = {i.name: random.uniform(0, 1, i.shape).astype(i.dtype) for i in compiled.plan.inputs}
    results = run(compiled, device, cache, inputs).values()
    for result, expected in zip(results, Reference(model).run(inputs), strict=True):
        assert difference(result, expected) is None


def test_digits(tmp_path: Path, opengl_device: str) -> None:
    agrees_with_litert(DIGITS_MODEL, tmp_path, opengl_device)


def test_mobilenet(tmp_path: Path, opengl_device: str, models: Path) -> None:
    name = "mobilenet_v1_0.25_224_1_default_1.tflite"
    agrees_with_litert(models / "networks" / "mobilenet_v1" / name, tmp_path, opengl_device)
