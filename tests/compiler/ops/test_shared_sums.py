"""Layers of few pixels on GPUs: how many work-items share the sums of a tile, and how."""

from pathlib import Path
from typing import Any

import pytest
from agreement import assert_agrees
from cases.convolutions import conv, depthwise
from cases.pools import pooled
from devices import Attached, own_profile
from graphs import Value, call, ints, model, w, x

from tflgpu.compiler import CompiledModel, Options, build
from tflgpu.compiler.ir import Op
from tflgpu.compiler.ops.base.definition import Implementation
from tflgpu.compiler.ops.base.tile import TileShape
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.sizing.sizes import Sizes, Sizing
from tflgpu.compiler.telling import silent
from tflgpu.compiler.tools.explain import explain


def excited(channels: int) -> Value:
    """Squeeze-and-excite: an image times factors of its channels that depend on all of it."""
    image = depthwise(x(1, 8, 8, channels))
    mean = call("MEAN", image, ints(1, 2), keep_dims=True)
    return call("MUL", image, call("LOGISTIC", conv(mean, (channels, channels), (1, 1))))


WINDOW = conv(pooled(1, 8, 8, 64), (64, 64))
RAGGED = conv(pooled(1, 8, 8, 72), (192, 72))
GATED = conv(excited(96), (48, 96), (1, 1))
ROWS = call("FULLY_CONNECTED", call("SOFTMAX", pooled(1, 1, 5, 256), beta=1.0), w(64, 256), w(64))


def compiled(value: Value, device: str) -> CompiledModel:
    return build(model({"y": value}).content, Options(device=device))


def sharing(made: CompiledModel) -> list[int]:
    """How many work-items share each sum of the kernels in which they do."""
    kernels = [made.plan.kernels[dispatch.kernel] for dispatch in made.plan.dispatches]
    return [kernel.group[1] for kernel in kernels if "conv_shared" in kernel.name]


@pytest.mark.parametrize(
    ("value", "device", "parts"),
    [
        (WINDOW, "nvidia", [8]),
        (WINDOW, "amd", [8]),
        (WINDOW, "mali", []),
        (WINDOW, "cpu_avx512", []),
        (GATED, "nvidia", [4]),
        (ROWS, "nvidia", [8]),
    ],
    ids=["window", "AMD", "Mali", "processor", "gate", "rows"],
)
def test_as_many_share_a_sum_as_keep_the_device_busy(
    value: Value, device: str, parts: list[int]
) -> None:
    assert sharing(compiled(value, device)) == parts


def test_a_last_part_may_be_smaller() -> None:
    """18 slices are three parts of 5 and one of 3."""
    (source,) = (
        text for name, text in compiled(RAGGED, "gpu").sources.items() if "conv_shared" in name
    )
    assert "int slice_at = gy * 5;" in source
    assert "int slice_end = min(slice_at + 5, 18);" in source


@pytest.mark.parametrize(
    "shape", [(8, 1), (5, 1), (1, 1), (2, 4), (3, 3)], ids=lambda shape: f"{shape[0]}x{shape[1]}"
)
def test_each_part_joins_its_own_sums(
    attached: Attached, shape: TileShape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four or eight parts of as many sums, of fewer and of more, up to the edges of the image."""

    def wanted(sizing: Sizing, op: Op, implementation: Implementation) -> Sizes | None:
        shared = implementation.name.startswith("conv_shared")
        return Sizes(shape, ((1, 1, 1),)) if shared else None

    monkeypatch.setattr(Sizing, "__call__", wanted)
    window = conv(pooled(2, 7, 6, 72), (22, 72))
    made = model(
        {"wide": window, "flat": call("RELU", conv(pooled(1, 5, 7, 96), (52, 96), (1, 1)))}
    )
    options: dict[str, Any] = {"target": attached.target, "device": own_profile(tmp_path, "gpu")}
    compiled = assert_agrees(made, attached.device, tmp_path, 2e-5, **options)
    assert sorted(sharing(compiled)) == [4, 8]


@pytest.mark.parametrize(("target", "least"), [("glsl", 2048), ("wgsl", 256)])
def test_little_local_memory_is_cleared(target: TargetName, least: int) -> None:
    """Where it is, the four parts hand on two of the four sums of a tile at a time."""
    large = conv(pooled(1, 16, 16, 64), (64, 64))
    made = build(model({"y": large}).content, Options(target=target, device="gpu"))
    assert made.plan.needs.local_memory == least


@pytest.mark.parametrize(
    ("value", "changes", "reason"),
    [
        (conv(pooled(1, 8, 8, 63), (64, 63)), {}, "its 63 input channels are not whole slices"),
        (
            conv(pooled(1, 8, 8, 32), (64, 32), (1, 1)),
            {},
            "its 32 input channels are too few to share their sums",
        ),
        (WINDOW, {"heavy_group": 8}, "the device's work-groups are too small to share sums"),
        (WINDOW, {"shared_sums": False}, "work-items of the device do not gain by sharing sums"),
        (
            WINDOW,
            {"work_items": 64},
            "the device is busy without sharing sums, or has too little local memory",
        ),
        (
            WINDOW,
            {"local_memory": 256},
            "the device is busy without sharing sums, or has too little local memory",
        ),
    ],
)
def test_it_declines(tmp_path: Path, value: Value, changes: dict[str, int], reason: str) -> None:
    options = Options(device=own_profile(tmp_path, "gpu", **changes))
    choices = explain(model({"y": value}).content, options, silent).choices
    (found,) = (choice.unsupported for choice in choices if choice.operators[0].name == "CONV_2D")
    assert dict(found)["conv_shared"] == reason
