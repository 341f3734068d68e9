"""Concatenations with zeros."""

from pathlib import Path

import pytest
from cases.convolutions import conv, window
from graphs import Value, call, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.fold.fold_pads import concat_to_pad

ZEROS = """
    input x float32[1,7,5,3]
    constant top float32[1,2,5,3] = 0
    constant bottom float32[1,1,5,3] = 0
    constant w float32[19,3,3,3]
    constant b float32[19]
    t = CONCATENATION(top, x, bottom) axis=1
    y = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
    output y
"""


def test_zeros_are_padding() -> None:
    expected = """
        t = PAD(x, t/paddings)
        y = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
    """
    graph = assert_becomes(ZEROS, expected, concat_to_pad)
    assert graph.ops[0].constant(1).tolist() == [[0, 0], [2, 1], [0, 0], [0, 0]]


def joined(first: Value) -> Value:
    image = call("CONCATENATION", first, x(1, 7, 5, 3), axis=1)
    return conv(image, (19, 3), **window("VALID"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (joined(x(1, 2, 5, 3)), "it does not concatenate one computed tensor with constants"),
        (joined(w(1, 2, 5, 3)), "a constant is not all zeros"),
    ],
    ids=["computed", "constant"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", concat_to_pad)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, ZEROS, off=[concat_to_pad])
