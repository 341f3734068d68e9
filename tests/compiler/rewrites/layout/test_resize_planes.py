"""Bilinear resizes between transposes of planes."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, transpose, x
from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.layout.resize_planes import resize_planes

SOURCE = """
    input x float32[2,3,17,40]
    constant pixels int32[4] = 0, 2, 3, 1
    constant size int32[2] = 34, 50
    constant planes int32[4] = 0, 3, 1, 2
    t = TRANSPOSE(x, pixels)
    s = RESIZE_BILINEAR(t, size) half_pixel_centers=True
    y = TRANSPOSE(s, planes)
    output y
"""

PLANES = """
    y/reshape0.0 = RESHAPE(x) new_shape=(6,17,40,1)
    y/resize_bilinear1.0 = RESIZE_BILINEAR(y/reshape0.0, size) half_pixel_centers=True
    y = RESHAPE(y/resize_bilinear1.0) new_shape=(2,3,34,50)
"""


def resized(*shape: int, size: tuple[int, int] = (34, 50)) -> Value:
    pixels = transpose(x(*shape), 0, 2, 3, 1)
    return transpose(call("RESIZE_BILINEAR", pixels, ints(*size)), 0, 3, 1, 2)


def test_planes_are_images_of_one_channel() -> None:
    assert_becomes(SOURCE, PLANES, resize_planes)


def test_a_transpose_stays_for_its_other_readers() -> None:
    source = SOURCE.replace("    output y", "    z = TANH(t)\n    output y\n    output z")
    expected = f"t = TRANSPOSE(x, pixels)\n{PLANES}\nz = TANH(t)"
    assert_becomes(source, expected, resize_planes)


@pytest.mark.parametrize(
    ("source", "device", "reason"),
    [
        (SOURCE.replace("output y", "output y\n    output s"), "cpu_avx512", "^s is also used"),
        (resized(1, 13, 17, 40), "cpu_avx512", "^13 channels fill their slices$"),
        (resized(1, 25, 17, 40), "cpu_avx512", "^25 channels fill their slices$"),
        (SOURCE, "gpu", "^neighbouring work-items already"),
    ],
)
def test_where_it_does_not_pay_nothing_is_moved(
    source: str | Value, device: str, reason: str
) -> None:
    assert_declines(source, reason, resize_planes, device=device)


def test_results_agree_with_litert(tmp_path: Path) -> None:
    assert_agrees(tmp_path, resized(2, 3, 17, 40), resized(1, 21, 9, 33, size=(5, 19)))
