"""Conversions between slices of channels and row-major tensors, of several images."""

from pathlib import Path
from typing import Any

import pytest
from rewriting import assert_agrees, compiled

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Tensor, Whole
from tflgpu.compiler.ops.elementwise.convert import TO_LINEAR, TO_SLICED, VIEW_LINEAR, VIEW_SLICED
from tflgpu.compiler.target import Target

STEPS = "filter_height=2 filter_width=2 padding=SAME stride_h=1 stride_w=1"


def converted(channels: int) -> str:
    """A result that one kernel reads in slices and another row-major."""
    return f"""
        input x float32[3,5,7,{channels}]
        constant first int32[1] = 0
        p = MAX_POOL_2D(x) {STEPS}
        y = MAX_POOL_2D(p) {STEPS}
        z = CUMSUM(p, first)
        output y, z
    """


def test_both_conversions_are_kernels() -> None:
    labels = [d.label.split(" -> ")[0] for d in compiled(converted(19)).plan.dispatches]
    assert "tflgpu.to_linear" in labels and "tflgpu.to_sliced" in labels


@pytest.mark.parametrize("channels", [3, 5, 19, 32, 37])
def test_numbers_agree(channels: int, tmp_path: Path) -> None:
    assert_agrees(tmp_path, converted(channels))


@pytest.mark.parametrize(("name", "view"), [(TO_SLICED, VIEW_SLICED), (TO_LINEAR, VIEW_LINEAR)])
def test_integers_of_a_slice_are_the_same_bytes_unless_they_have_a_sign(
    name: str, view: Any
) -> None:
    for signed in (False, True):
        before, after = (Tensor(part, (1, 1, 1, 8), whole=Whole(8, -128, signed)) for part in "xy")
        reason = view.unsupported_reason(Op(name, (before,), (after,)), Target(profile("gpu")))
        assert reason == ("only row-major integers have a sign" if signed else None)
