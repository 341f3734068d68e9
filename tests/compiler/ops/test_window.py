"""Windows: which pixels of a tile may see what is outside the image."""

from __future__ import annotations

import itertools

import pytest

from tflgpu.compiler.ops.base import Window


@pytest.mark.parametrize("pixels", [1, 4, 7, 16])
def test_pixels_beyond_are_those_of_any_tile(pixels: int) -> None:
    cases = itertools.product((1, 2, 3), (1, 2), (1, 3, 5), (0, 1, 4), (0, 2), (9, 16, 33))
    for stride, dilation, size, left, right, columns in cases:
        window = Window(1, size, 1, stride, 1, dilation, 0, 0, left, right)
        outputs = (columns + left + right - (size - 1) * dilation - 1) // stride + 1
        starts = range(0, outputs, pixels)
        first, behind = window.pixels_beyond(columns, outputs, pixels)
        for pixel in range(pixels):
            lefts = [(start + pixel) * stride - left for start in starts]
            rights = [place + (size - 1) * dilation for place in lefts]
            assert (pixel < first) == any(place < 0 for place in lefts)
            assert (pixel >= behind) == any(place >= columns for place in rights)
