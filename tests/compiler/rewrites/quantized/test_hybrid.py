"""Floats times quantized weights: what is quantized while the model runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from devices import Way
from graphs import call, known, model, w, x
from graphs.operators import graph_of
from quantized_operators import quantized

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import UnsupportedError
from tflgpu.compiler.ir import Array, Blocks, Graph, Op, Quantization, Tensor, constant
from tflgpu.compiler.ops.matmul.fully_connected import OF_BLOCKS
from tflgpu.compiler.ops.reduce.extremes import EXTREMES, ROW_SCALES
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.target import Target

SEED = 9  # Of the weights of each test.
PLAIN = {"fused_activation_function": "NONE"}


def lowered(
    operator: str, source: Tensor, weights: Tensor, device: str = "cpu_avx512", /, **attrs: object
) -> Graph:
    result = Tensor("y", (3, weights.shape[0]) if operator == "FULLY_CONNECTED" else source.shape)
    graph = graph_of(Op(operator, (source, weights, None), (result,), {**PLAIN, **attrs}))
    lower_quantized(graph, Target(profile(device)))
    return graph


def multiplied(graph: Graph, operator: str) -> Array:
    """The constant matrix or window that an operator multiplies by."""
    return next(op for op in graph.ops if op.name == operator).constant(1)


def scales_in(graph: Graph) -> Array:
    return next(op for op in graph.ops if op.name == OF_BLOCKS).constant(3)


def test_scales_of_blocks_are_rounded_to_bfloat16() -> None:
    values = np.random.default_rng(SEED).integers(-7, 8, (5, 64)).astype(np.int8)
    # The second lies half-way between two bfloat16 numbers, of which the even one is above.
    scales = np.tile(np.array([1.0, 1.01171875], np.float16), 5).reshape(5, 2)
    weights = Tensor("w", (5, 64), "int4", values, blocks=Blocks(32, constant("s", scales), None))
    graph = lowered("FULLY_CONNECTED", Tensor("x", (3, 64)), weights)
    np.testing.assert_array_equal(multiplied(graph, OF_BLOCKS), values)
    np.testing.assert_array_equal(scales_in(graph), [[1, 1.015625]] * 5)


def of_blocks(outputs: int, inputs: int, size: int, dtype: str = "int4") -> Tensor:
    values = np.random.default_rng(SEED).integers(-7, 8, (outputs, inputs)).astype(np.int8)
    scales = np.full((outputs, inputs // size), 1.01171875, np.float16)
    blocks = Blocks(size, constant("s", scales), None)
    return Tensor("w", (outputs, inputs), dtype, values, blocks=blocks)


def test_scales_of_small_blocks_are_not_rounded() -> None:
    weights = of_blocks(5, 48, 16)
    graph = lowered("FULLY_CONNECTED", Tensor("x", (3, 48)), weights)
    np.testing.assert_array_equal(scales_in(graph), np.full((5, 3), 1.01171875))
    assert any(op.name == "tflgpu.quantize_rows_away" for op in graph.ops)


def test_blocks_that_are_no_whole_slices_become_floats() -> None:
    """Scales are loaded with a slice of inputs, of which a processor's has up to 16."""
    weights = of_blocks(5, 60, 20)
    graph = lowered("FULLY_CONNECTED", Tensor("x", (3, 60)), weights)
    assert weights.data is not None
    expected = weights.data * np.float32(1.01171875)
    np.testing.assert_array_equal(multiplied(graph, "FULLY_CONNECTED"), expected)


@pytest.mark.parametrize("sizes", [(3, 48, 16), (5, 33, 11), (5, 16, 16)])
def test_what_no_kernel_of_litert_computes_is_refused(sizes: tuple[int, int, int]) -> None:
    outputs, inputs, size = sizes
    reason = f"weights w are {outputs}x{inputs} in blocks of {size}, for which LiteRT computes"
    with pytest.raises(UnsupportedError, match=f"operator 0 FULLY_CONNECTED: {reason} nothing"):
        lowered("FULLY_CONNECTED", Tensor("x", (3, inputs)), of_blocks(*sizes))


@pytest.mark.parametrize("dtype", ["int8", "int2"])
def test_blocks_that_litert_takes_for_int4_are_refused(dtype: str) -> None:
    reason = f"the blocks of w are {dtype}, whose bytes LiteRT takes for int4"
    with pytest.raises(UnsupportedError, match=f"operator 0 FULLY_CONNECTED: {reason}"):
        lowered("FULLY_CONNECTED", Tensor("x", (3, 64)), of_blocks(5, 64, 32, dtype))


def test_convolutions_by_integers_of_two_bits_are_refused() -> None:
    """LiteRT reads a byte for each of them, beyond the buffer's end."""
    pixels = replace(quantized("w", np.ones((4, 1, 1, 4)), [0.5]), dtype="int2")
    with pytest.raises(UnsupportedError, match="operator 0 CONV_2D: its weights are int2") as error:
        lowered("CONV_2D", Tensor("x", (2, 5, 3, 4)), pixels, **window())
    assert error.value.findings[0].unsafe


def test_depthwise_convolutions_have_a_scale_for_each_channel() -> None:
    """LiteRT reads so many, beyond the only one's end."""
    weights = quantized("w", np.ones((1, 3, 3, 4)), [0.5])
    with pytest.raises(UnsupportedError, match="DEPTHWISE_CONV_2D: its weights have one") as error:
        lowered("DEPTHWISE_CONV_2D", Tensor("x", (2, 5, 3, 4)), weights, **window())
    assert error.value.findings[0].unsafe


@pytest.mark.parametrize(("inputs", "bytes_alone"), [(1032, True), (1033, False)])
def test_bytes_are_multiplied_as_far_as_sums_are_exact(inputs: int, bytes_alone: bool) -> None:
    """-128 times 127, that many times, is 2^24 at most."""
    weights = quantized("w", np.full((5, inputs), 127), [0.5])
    graph = lowered("FULLY_CONNECTED", Tensor("x", (3, inputs)), weights)
    assert any(op.name == "tflgpu.less_zero" for op in graph.ops) == bytes_alone


def test_bytes_are_multiplied_beyond_in_sums_of_32_bits(opencl_device: str, tmp_path: Path) -> None:
    """They become floats once, as LiteRT's do."""
    rng = np.random.default_rng(SEED)
    values = rng.integers(100, 128, (5, 3, 3, 300)).astype(np.int8)
    filters = known(values, Quantization((0.5,), (0,)))
    value = call("CONV_2D", x(1, 7, 5, 300), filters, w(5), **window())
    made = model({"y": value})
    inputs = {name: rng.random((1, 7, 5, 300), np.float32) for name in made.inputs}
    compiled = pipeline.build(made.content, Options(device="cpu_avx512_bytes"))
    found = run(compiled, opencl_device, tmp_path, inputs)
    assert_litert(found, made, 0.0, inputs=inputs, kernels="XNNPACK")


@pytest.mark.parametrize(("device", "first"), [("cpu_avx512", (2, 3)), ("gpu", (1,))])
def test_large_images_are_reduced_in_two_steps(device: str, first: tuple[int, ...]) -> None:
    """Beside the convolution there are as many launches as it takes at least."""
    weights = quantized("w", np.ones((4, 3, 3, 8)), [0.5])
    graph = lowered("CONV_2D", Tensor("x", (1, 32, 32, 8)), weights, device, **window())
    ends, _, scales, *_ = graph.ops
    assert (ends.name, ends.attrs["axes"]) == (EXTREMES, first)
    assert (scales.name, scales.attrs["axes"]) == (ROW_SCALES, (1, 2, 3))


def test_depthwise_convolutions_scale_the_last_channels_by_the_image_first() -> None:
    values, scales = (
        np.random.default_rng(SEED).integers(-127, 128, (1, 1, 1, 7)),
        [n / 8 for n in range(1, 8)],
    )
    weights = quantized("w", values, scales, axis=3)
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    graph = lowered("DEPTHWISE_CONV_2D", Tensor("x", (2, 5, 3, 7)), weights, **window)
    np.testing.assert_array_equal(multiplied(graph, "DEPTHWISE_CONV_2D"), values)
    scaling = next(op for op in graph.ops if op.name == "tflgpu.scale_rows")
    np.testing.assert_array_equal(scaling.constant(1), [*scales[:4], 1, 1, 1])
    np.testing.assert_array_equal(scaling.constant(3), [1, 1, 1, 1, *scales[4:]])


STEPS = (1.0, 2.0, 3.0, 4.0)
# Weights that leave an image as it is but for their scales.
SINGLE_PIXELS = {
    "CONV_2D": known(
        np.eye(4, dtype=np.int8).reshape(4, 1, 1, 4), Quantization(STEPS, (0,) * 4), "int4"
    ),
    "DEPTHWISE_CONV_2D": known(
        np.ones((1, 1, 1, 4), np.int8), Quantization(STEPS, (0,) * 4, axis=3)
    ),
}


@pytest.mark.parametrize("operator", SINGLE_PIXELS)
def test_halves_are_rounded_before_the_zero_point_is_added(
    operator: str, way: Way, tmp_path: Path
) -> None:
    """Just above a half, what is less than 64 would be that half in a sum with -128."""
    rng = np.random.default_rng(SEED)
    halves = rng.integers(0, 60, (1, 5, 7, 4)).astype(np.float32) + np.float32(0.5)
    image = np.nextafter(halves, np.float32(99))
    image[0, 2, 3, 1] = 255
    attrs = window() | ({"depth_multiplier": 1} if operator == "DEPTHWISE_CONV_2D" else {})
    made = model({"y": call(operator, x(*image.shape), SINGLE_PIXELS[operator], w(4), **attrs)})
    inputs = dict.fromkeys(made.inputs, image)
    compiled = pipeline.build(made.content, Options(way.target, device=way.profile))
    found = run(compiled, way.device, tmp_path, inputs)
    assert_litert(found, made, 1e-6, inputs=inputs, kernels="XNNPACK")
