"""Averages over whole images."""

from pathlib import Path

import pytest
from graphs import Value, call, x
from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.fold.pool_to_mean import pool_to_mean


def pool(image: Value, size: tuple[int, int], stride: tuple[int, int], padding: str) -> Value:
    window = {"filter_height": size[0], "filter_width": size[1]}
    steps = {"stride_h": stride[0], "stride_w": stride[1]}
    return call("AVERAGE_POOL_2D", image, padding=padding, **window, **steps)


WHOLE = """
    input x float32[2,7,5,3]
    y = AVERAGE_POOL_2D(x) padding=VALID filter_height=7 filter_width=5 stride_h=1 stride_w=1
    output y
"""


def test_a_window_as_large_as_the_image() -> None:
    graph = assert_becomes(WHOLE, "y = MEAN(x, y/axes) keep_dims=True", pool_to_mean)
    assert graph.ops[0].constant(1).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (pool(x(2, 7, 5, 3), (6, 5), (1, 1), "VALID"), "it has more than one window"),
        (pool(x(2, 3, 5, 3), (2, 3), (3, 5), "SAME"), "the window is smaller than the image"),
    ],
    ids=["windows", "smaller"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", pool_to_mean)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, WHOLE, off=[pool_to_mean])
