"""TOPK_V2 of long rows, in steps."""

import pytest
from graphs import largest, x
from rewriting import assert_becomes, assert_declines, compiled, operators

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def test_the_steps() -> None:
    expected = """
        y:0/top_of_blocks0.0, y:0/top_of_blocks0.1 = tflgpu.top_of_blocks(y/in0) \
length=256 count=126 falling=True nan_first=False
        y:0, y:1 = tflgpu.merge_tops(y:0/top_of_blocks0.0, y:0/top_of_blocks0.1) \
length=126 lists=4 count=126 falling=True nan_first=False
    """
    assert_becomes(largest(x(2, 1000), 126), expected, decompose_operators)
    assert operators(largest(x(2, 1024), 1024), decompose_operators).split() == [
        "tflgpu.top_of_blocks",
        "tflgpu.merge_tops",
    ]


@pytest.mark.parametrize(
    ("size", "count", "reason"),
    [
        (4000, 10, "one work-item finds 10 of 4000 values fast enough"),
        (700, 10, "rows of 700 values are short"),
        (767, 767, "rows of 767 values are short"),
    ],
)
def test_it_declines(size: int, count: int, reason: str) -> None:
    assert_declines(largest(x(2, size), count), f"^{reason}$", decompose_operators)


def test_only_what_is_needed_is_kept_between_steps() -> None:
    plan = compiled(largest(x(2, 4000), 10), "gpu").plan
    # 63 blocks of at most 64 values give ten values each; then a quarter as many, and so on.
    sizes = sorted({tensor.shape[-1] for tensor in plan.tensors})
    assert sizes == [10, 40, 160, 630, 4000]
