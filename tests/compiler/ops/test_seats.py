"""Work-items that take turns in local memory where it is cleared before a work-group begins."""

from pathlib import Path
from typing import Any

import pytest
from agreement import assert_agrees
from cases.convolutions import conv
from cases.pools import pooled
from devices import Attached
from graphs import Value, call, ints, model, w, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.options import TargetName


def mean(*shape: int) -> Value:
    return call("MEAN", pooled(*shape), ints(1, 2), keep_dims=True)


def gate(*shape: int) -> Value:
    """A mean, and two layers that make a vector of it: one work-group computes them."""
    narrow = call("RELU", conv(mean(*shape), (16, shape[3]), (1, 1)))
    return call("LOGISTIC", conv(narrow, (shape[3], 16), (1, 1)))


VALUES = {
    "mean": mean(1, 40, 30, 9),
    "normalized": call("L2_NORMALIZATION", pooled(1, 3, 2, 1200)),
    "gate": gate(1, 24, 24, 96),
    "gate of five rows": gate(1, 11, 11, 192),
}


@pytest.mark.parametrize("name", VALUES)
def test_numbers_agree(attached: Attached, name: str, tmp_path: Path) -> None:
    profile = "webgpu" if attached.target == "wgsl" else "gpu"
    options: dict[str, Any] = {"target": attached.target, "device": profile}
    assert_agrees(model({"y": VALUES[name]}), attached.device, tmp_path, 1e-5, **options)


@pytest.mark.parametrize(
    ("name", "target", "floats"),
    [
        ("mean", "opencl", 4 * 256),
        ("mean", "wgsl", 4 * 16),
        ("gate", "opencl", 4 * 240),
        ("gate", "wgsl", 112 + 4 * 24),
        ("gate of five rows", "wgsl", 4 * 20),
    ],
)
def test_little_local_memory_is_cleared(name: str, target: TargetName, floats: int) -> None:
    options = Options(target=target, device="webgpu")
    needs = build(model({"y": VALUES[name]}).content, options).plan.needs
    assert needs.local_memory == 4 * floats


@pytest.mark.parametrize(
    ("target", "sizes", "parts"), [("wgsl", [4, 16, 128], 8), ("glsl", [32, 128, 128], 16)]
)
def test_they_add_up_more_than_they_wait(target: TargetName, sizes: list[int], parts: int) -> None:
    """Means over 7 x 7, 14 x 14 and 112 x 112 pixels, and a layer of 576 inputs."""
    images = [mean(1, size, size, 240) for size in (7, 14, 112)]
    layer = call("FULLY_CONNECTED", x(1, 576), w(1024, 576))
    values = {f"{number}": value for number, value in enumerate([*images, layer])}
    plan = build(model(values).content, Options(target=target, device="gpu")).plan
    groups = [plan.kernels[each.kernel] for each in plan.dispatches]
    reductions = [each.group[0] for each in groups if each.name.startswith("reduce_group")]
    (shared,) = (each.group[1] for each in groups if each.name.startswith("split_sums"))
    assert (sorted(reductions), shared) == (sizes, parts)
