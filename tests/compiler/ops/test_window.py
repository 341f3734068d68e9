"""Windows: which pixels of a tile may see what is outside the image."""

import itertools

import pytest
from cases.convolutions import conv, depthwise, window
from graphs import model, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.ops.base.window import Window
from tflgpu.compiler.options import TargetName


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


@pytest.mark.parametrize(("target", "paths"), [("glsl", 2), ("wgsl", 1)])
def test_tiles_inside_have_a_path_unless_kernels_are_compiled_at_the_start(
    target: TargetName, paths: int
) -> None:
    first = conv(x(1, 32, 32, 3), (16, 3), **window("SAME", (2, 2)))
    sources = build(model({"y": first}).content, Options(target=target, device="gpu")).sources
    (text,) = (text for name, text in sources.items() if "conv_linear" in name)
    assert text.count("ky++") == paths


@pytest.mark.parametrize(("size", "unrolled"), [(7, 3), (9, 2)])
def test_rows_of_large_depthwise_windows_are_walked_in_a_loop(size: int, unrolled: int) -> None:
    """A driver takes seconds to unroll all taps of eight pixels."""
    value = depthwise(x(1, 40, 40, 16), 1, (size, size))
    content = model({"y": value}).content
    sources = build(content, Options(target="opencl", device="cpu_avx512")).sources
    (text,) = (text for name, text in sources.items() if "depthwise" in name)
    walk = text[text.index("for (int c") :].partition("for (int p")[0]
    assert f"for (int ky = 0; ky < {size}; ky++)" in walk
    assert walk.count("#pragma unroll") == unrolled
