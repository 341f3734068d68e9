"""Which of several kernels an operator gets on which kind of device."""

from __future__ import annotations

import pytest
from cases import window
from expressions import Value, call, model, w, x

from tflgpu.compiler import Options, driver


def pooled(*shape: int) -> Value:
    """An image in slices: only the pooling kernel for slices computes it."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    return call("MAX_POOL_2D", x(*shape), padding="SAME", **size)


def templates(value: Value, profile: str) -> list[str]:
    """The templates of a model's kernels, in the order of dispatch."""
    options = Options(device=profile, fallback="none")
    plan = driver.build(model({"value": value}).content, options).plan
    files = [plan.kernels[dispatch.kernel].file for dispatch in plan.dispatches]
    return [file.split("_", 1)[1].rsplit(".", 1)[0] for file in files]


FEW_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(1, 3, 3, 32), w(1), **window())
MORE_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(4, 3, 3, 32), w(4), **window())
MANY_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(5, 3, 3, 32), w(5), **window())
FIRST_LAYER = call("CONV_2D", x(1, 17, 19, 3), w(32, 3, 3, 3), w(32), **window("SAME", (2, 2)))


@pytest.mark.parametrize(
    ("value", "profile", "expected"),
    [
        (FEW_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv_thin"]),
        (FEW_OUTPUTS, "gpu", ["to_sliced", "max_pool", "conv_thin"]),
        (MORE_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv_thin"]),
        (MORE_OUTPUTS, "gpu", ["to_sliced", "max_pool", "conv"]),
        (MANY_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv"]),
        (FIRST_LAYER, "cpu_avx512", ["conv"]),
        (FIRST_LAYER, "gpu", ["conv"]),
    ],
)
def test_kernels(value: Value, profile: str, expected: list[str]) -> None:
    assert templates(value, profile) == expected
