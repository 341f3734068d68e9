"""TOPK_V2 of long rows, in steps."""

import pytest
from graphs import largest, x
from rewriting import PROFILES, assert_becomes, assert_declines, compiled

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def test_long_rows_are_sorted_in_steps() -> None:
    """Of a whole row they sort all of its values."""
    for size, count in ((1000, 126), (1024, 1024)):
        expected = f"""
            y:0/top_of_blocks0.0, y:0/top_of_blocks0.1 = tflgpu.top_of_blocks(y/in0) \
length=256 count={count} falling=True nan_first=False
            y:0, y:1 = tflgpu.merge_tops(y:0/top_of_blocks0.0, y:0/top_of_blocks0.1) \
length={min(count, 256)} lists=4 count={count} falling=True nan_first=False
        """
        assert_becomes(largest(x(2, size), count), expected, decompose_operators, device="gpu")


@pytest.mark.parametrize(
    ("size", "count", "device", "reason"),
    [
        (4000, 10, PROFILES[0], "one work-item keeps 10 of 4000 values in a heap"),
        (1000, 1000, PROFILES[0], "one work-item keeps 1000 of 1000 values in a heap"),
        (700, 10, "gpu", "rows of 700 values are short"),
        (767, 767, "gpu", "rows of 767 values are short"),
    ],
)
def test_it_declines(size: int, count: int, device: str, reason: str) -> None:
    assert_declines(largest(x(2, size), count), f"^{reason}$", decompose_operators, device=device)


def test_only_what_is_needed_is_kept_between_steps() -> None:
    plan = compiled(largest(x(2, 4000), 10), "gpu").plan
    # 63 blocks of at most 64 values give ten values each; then a quarter as many, and so on.
    sizes = sorted({tensor.shape[-1] for tensor in plan.tensors})
    assert sizes == [10, 40, 160, 630, 4000]
