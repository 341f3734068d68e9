"""Transposed convolutions of bytes as convolutions; numbers are compared in tests/compiler/ops."""

from typing import Any

import numpy as np
import pytest
from cases.quantized_layers import bias, weights
from graphs import Value, affine, ints, known, quantized, xq
from rewriting import assert_declines, rewritten

from tflgpu.compiler.ir import Shape
from tflgpu.compiler.rewrites.fuse.convolve_phases import convolve_phases
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.rewrites.quantized.store_integers import store_integers

PASSES = (lower_quantized, convolve_phases)
DEVICE = "cpu_avx512_bytes"

BY_COMPUTED_WEIGHTS = quantized(
    *("TRANSPOSE_CONV", ints(1, 6, 10, 2), xq(2, 2, 2, 8), xq(1, 3, 5, 8)),
    padding="SAME",
    stride_h=2,
    stride_w=2,
)


def transposed(
    size: Shape,
    steps: int,
    output: Shape,
    padding: str = "SAME",
    dtype: str = "int8",
    channels: int = 2,
) -> Value:
    """Of 3x5 pixels of 8 channels."""
    filters = weights((channels, *size, 8))
    kind = "int64" if dtype == "int16" else "int32"
    return quantized(
        "TRANSPOSE_CONV",
        *(ints(1, *output, channels), filters, xq(1, 3, 5, 8, dtype=dtype)),
        bias(filters, channels, kind),
        dtype=dtype,
        padding=padding,
        stride_h=steps,
        stride_w=steps,
        quantized_bias_type=kind,
    )


def test_bytes_are_rounded_before_phases_become_pixels() -> None:
    graph, _ = rewritten(
        transposed((4, 4), 2, (6, 10)), *PASSES, fuse_elementwise, store_integers, device=DEVICE
    )
    assert [[op.name, *(each.name for each in op.epilogue)] for op in graph.ops] == [
        ["tflgpu.to_centered"],
        ["CONV_2D", "tflgpu.requantize"],
        ["tflgpu.phases_to_space"],
        ["tflgpu.from_centered"],
    ]
    _, convolution, spread, _ = graph.ops
    assert convolution.output.shape == (1, 4, 6, 8)
    assert convolution.output.whole and convolution.output.whole.bits == 8
    assert spread.attrs == {"blocks": (2, 2), "crops": (1, 1), "size": (6, 10)}


def test_all_that_reads_channels_alone_is_computed_before() -> None:
    table = known(np.array([3, -5], np.int8), affine(0.1))
    scaled = quantized("MUL", transposed((4, 4), 2, (6, 10)), table, scale=0.3)
    graph, _ = rewritten(quantized("MUL", scaled, table, scale=0.5), *PASSES, device=DEVICE)
    names = [op.name for op in graph.ops]
    assert names[names.index("CONV_2D") + 1 : names.index("tflgpu.phases_to_space")] == [
        "tflgpu.requantize",
        "tflgpu.requantize_product",
        "tflgpu.requantize_product",
    ]


@pytest.mark.parametrize(
    ("padding", "size", "steps", "output", "around", "crops"),
    [
        ("SAME", (2, 2), 2, (6, 10), ((0, 0), (0, 0)), (0, 0)),
        ("SAME", (3, 3), 2, (6, 10), ((1, 0), (1, 0)), (0, 0)),
        ("SAME", (4, 4), 2, (6, 10), ((1, 1), (1, 1)), (1, 1)),
        ("SAME", (6, 6), 2, (6, 10), ((1, 1), (1, 1)), (0, 0)),
        ("SAME", (7, 7), 3, (9, 15), ((2, 1), (2, 1)), (2, 2)),
        ("VALID", (1, 3), 3, (7, 15), ((0, 0), (0, 0)), (0, 0)),
        ("VALID", (3, 3), 2, (7, 11), ((1, 1), (1, 1)), (0, 0)),
        ("VALID", (3, 3), 2, (8, 12), ((1, 1), (1, 1)), (0, 0)),
    ],
)
def test_paddings(
    padding: str,
    size: Shape,
    steps: int,
    output: Shape,
    around: tuple[tuple[int, int], ...],
    crops: tuple[int, int],
) -> None:
    graph, _ = rewritten(transposed(size, steps, output, padding), *PASSES, device=DEVICE)
    by_name = {op.name: op for op in graph.ops}
    assert by_name["CONV_2D"].attrs["padding"] == around
    assert by_name["tflgpu.phases_to_space"].attrs["crops"] == crops


def test_weights_of_phases() -> None:
    """Of 3x3 with stride 2 the first phase reads four pixels, of which the last is its own."""
    filters = known(np.arange(1, 10, dtype=np.int8).reshape(1, 3, 3, 1), affine(0.1))
    options: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    value = quantized("TRANSPOSE_CONV", ints(1, 6, 10, 1), filters, xq(1, 3, 5, 1), **options)
    graph, _ = rewritten(value, *PASSES, device=DEVICE)
    kernels = next(op for op in graph.ops if op.name == "CONV_2D").constant(1)
    assert kernels[..., 0].tolist() == [
        [[9, 7], [3, 1]],
        [[0, 8], [0, 2]],
        [[0, 0], [6, 4]],
        [[0, 0], [0, 5]],
    ]


def test_sums_of_parts_are_added_pixel_by_pixel() -> None:
    """Which are the sums of other channels of the image, where all may pass 2^24."""
    filters = weights((2, 2, 2, 1200))
    options: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    value = quantized(
        "TRANSPOSE_CONV", ints(1, 6, 10, 2), filters, xq(1, 3, 5, 1200, zero=-128), **options
    )
    graph, _ = rewritten(value, *PASSES, device=DEVICE)
    names = [op.name for op in graph.ops]
    assert names.count("CONV_2D") == names.count("tflgpu.phases_to_space") > 1
    assert names[-3:] == ["tflgpu.add_exact", "tflgpu.requantize", "tflgpu.from_centered"]


@pytest.mark.parametrize(("channels", "shape"), [(2, (1, 6, 10, 2)), (1, (8,))])
def test_a_constant_of_pixels_or_of_more_channels_meets_pixels(channels: int, shape: Shape) -> None:
    numbers = known(np.arange(np.prod(shape), dtype=np.int8).reshape(shape), affine(0.1))
    value = quantized("ADD", transposed((2, 2), 2, (6, 10), channels=channels), numbers, scale=0.3)
    graph, _ = rewritten(value, *PASSES, device=DEVICE)
    assert [op.name for op in graph.ops][-3:-1] == [
        "tflgpu.phases_to_space",
        "tflgpu.requantize_sum",
    ]


@pytest.mark.parametrize(
    ("value", "device", "reason"),
    [
        (transposed((2, 2), 2, (6, 10)), "cpu_avx512", "the device does not multiply bytes"),
        (transposed((2, 2), 2, (6, 10), dtype="int16"), DEVICE, "no integers of 8 bits"),
        (transposed((8, 8), 7, (21, 35)), DEVICE, "read 196 pixels, of which 64 count"),
        (transposed((1, 1), 2, (5, 9), "VALID"), DEVICE, "phases read 4 pixels, of which 1 count"),
        (BY_COMPUTED_WEIGHTS, DEVICE, "input 1 is computed"),
    ],
    ids=["no bytes", "int16", "few pixels", "gaps", "computed weights"],
)
def test_it_declines(value: Value, device: str, reason: str) -> None:
    assert_declines(value, reason, *PASSES, device=device)
