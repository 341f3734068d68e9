"""Normalizations of images in two kernels; numbers are compared in tests/compiler/ops."""

import pytest
from cases.norms import converted, layers, root_mean_square
from graphs import Value, call, w, x
from rewriting import assert_declines, rewritten

from tflgpu.compiler.rewrites import LAYOUT
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.split_normalization import split_normalization
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization

PASSES = (*LAYOUT, recognize_normalization, split_normalization)
BOTH = ["tflgpu.pixel_statistics", "tflgpu.normalize_pixels"]


def of_image(*shape: int, axes: tuple[int, ...] = (1, 2, 3)) -> Value:
    return call("RELU", layers(x(*shape), axes, w(shape[-1]), w(shape[-1])))


@pytest.mark.parametrize(
    ("value", "device"),
    [
        (of_image(1, 64, 64, 32), "cpu_avx512"),
        (of_image(1, 64, 64, 32), "gpu"),
        (of_image(1, 192, 192, 8, axes=(1, 2)), "gpu"),
        (converted((1, 9, 11, 64), 16, gain=True), "gpu"),
        (converted((1, 24, 25, 300), 2, gain=True), "cpu_avx512"),
    ],
    ids=["an image", "an image on a GPU", "channels", "groups on a GPU", "large groups"],
)
def test_statistics_then_the_rest(value: Value, device: str) -> None:
    graph, _ = rewritten(value, *PASSES, fuse_elementwise, device=device)
    assert [op.name for op in graph.ops] == BOTH


def test_parts_keep_the_device_busy_and_the_cache_of_a_processor() -> None:
    for device, parts in {"cpu_avx512": 16, "gpu": 4}.items():
        graph, _ = rewritten(of_image(1, 64, 64, 32), *PASSES, device=device)
        assert graph.ops[0].output.shape == (1, 1, 2 * parts, 32)


@pytest.mark.parametrize(
    ("value", "device", "reason"),
    [
        (of_image(1, 9, 11, 32), "cpu_avx512", "1 work-items normalize it fast"),
        (of_image(4, 64, 64, 32), "cpu_avx512", "4 work-items normalize it fast"),
        (of_image(1, 9, 11, 32), "gpu", "1 work-groups of 64 work-items normalize it fast"),
        (of_image(1, 64, 64, 512, axes=(1, 2)), "gpu", "128 work-groups of 128 work-items"),
        (root_mean_square(x(1, 64, 64, 32), (1, 2), w(32), w(32)), "gpu", "no mean is subtracted"),
    ],
    ids=["few pixels", "pictures", "few pixels on a GPU", "many channels", "no mean"],
)
def test_it_declines(value: Value, device: str, reason: str) -> None:
    assert_declines(value, reason, *PASSES, device=device)
