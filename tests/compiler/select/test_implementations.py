"""Which of several implementations an operator gets on which kind of device."""

import numpy as np
import pytest
from cases.convolutions import window
from cases.pools import pooled
from cases.quantized_layers import weights
from graphs import Value, call, ints, known, largest, model, quantized, transpose, w, x, xq

from tflgpu.compiler import Options, pipeline


def templates(value: Value, profile: str) -> list[str]:
    """The templates of a model's kernels, in the order of dispatch."""
    options = Options(device=profile, fallback="none")
    plan = pipeline.build(model({"value": value}).content, options).plan
    files = [plan.kernels[dispatch.kernel].file for dispatch in plan.dispatches]
    return [file.split("_", 1)[1].rsplit(".", 1)[0] for file in files]


FEW_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(1, 3, 3, 32), w(1), **window())

FEW_OUTPUTS_OF_MANY = call("CONV_2D", pooled(1, 32, 37, 32), w(1, 3, 3, 32), w(1), **window())

MORE_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(4, 3, 3, 32), w(4), **window())

MANY_OUTPUTS = call("CONV_2D", pooled(1, 7, 11, 32), w(5, 3, 3, 32), w(5), **window())

SQUARES = call("CONV_2D", pooled(1, 13, 17, 8), w(8, 3, 3, 8), w(8), **window())

FROM_ROWS = call("CONV_2D", x(1, 13, 17, 8), w(8, 3, 3, 8), w(8), **window())

FEW_SQUARES = call("CONV_2D", pooled(1, 8, 16, 8), w(8, 3, 3, 8), w(8), **window())

EMPTY_SQUARES = call("CONV_2D", pooled(1, 1, 99, 8), w(8, 3, 3, 8), w(8), **window())

STRIDE = call("CONV_2D", pooled(1, 32, 32, 8), w(8, 3, 3, 8), w(8), **window("SAME", (2, 2)))

TOO_DEEP = call("CONV_2D", pooled(1, 13, 17, 400), w(8, 3, 3, 400), w(8), **window())

DEEP = call("CONV_2D", pooled(1, 21, 24, 64), w(64, 3, 3, 64), w(64), **window())

MORE_WEIGHTS = call("CONV_2D", pooled(1, 21, 20, 64), w(64, 3, 3, 64), w(64), **window())

STEPS = ["winograd_input", "winograd_product", "winograd_output"]

FIRST_LAYER = call("CONV_2D", x(1, 17, 19, 3), w(32, 3, 3, 3), w(32), **window("SAME", (2, 2)))

ONE_VECTOR = call("FULLY_CONNECTED", pooled(1, 1, 1, 128), w(9, 128), w(9))

ROWS = call("FULLY_CONNECTED", x(2, 128), w(9, 128), w(9))


def layer(rows: Value, outputs: int, inputs: int) -> Value:
    return quantized("FULLY_CONNECTED", rows, weights((outputs, inputs)), None, scale=0.6)


# Weights of 344 inputs fill up slices; that is no reason to read rows.
RAGGED_BYTES = layer(layer(xq(1, 64), 344, 64), 1376, 344)

# An image of floats becomes bytes while the model runs, with its edges.
WINDOWS_OF_BYTES = call("CONV_2D", x(1, 9, 11, 64), weights((32, 3, 3, 64)), w(32), **window())

# The image, what its parts and the whole lie between, its bytes, and their products.
BYTES_IN_SLICES = ["to_sliced", "extremes", "extremes", "move", "conv_bytes"]

MEAN = call("MEAN", pooled(1, 9, 11, 32), ints(1, 2), keep_dims=True)

MEAN_OF_FEW = call("MEAN", pooled(1, 3, 5, 32), ints(1, 2), keep_dims=True)

SOFTMAX = call("SOFTMAX", x(3, 1001), beta=1.0)

ACROSS_ROWS = transpose(
    call("SOFTMAX", transpose(x(2, 3, 5, 2, 32), 0, 4, 2, 3, 1), beta=1.0), 0, 4, 2, 3, 1
)

SUMS_ACROSS_ROWS = call("SUM", x(2, 3, 5, 2, 32), ints(1, 3), keep_dims=True)

SUMS_OF_RAGGED_ROWS = call("SUM", x(2, 3, 5, 2, 33), ints(1, 3), keep_dims=True)

PRODUCT = call("BATCH_MATMUL", x(4, 9, 16), x(4, 16, 32))

TRANSPOSED = call("BATCH_MATMUL", x(4, 9, 16), x(4, 32, 16), adj_y=True)
FEW_TRANSPOSED = call("BATCH_MATMUL", x(4, 3, 16), x(4, 32, 16), adj_y=True)

FEW_ROWS = call("BATCH_MATMUL", x(3, 16), x(16, 32))

FEW_COLUMNS = call("BATCH_MATMUL", x(9, 16), x(16, 8))
SINGLE_COLUMNS = call("BATCH_MATMUL", x(9, 16), x(16, 3))

WHOLE_ROWS = transpose(x(3, 1, 5, 2, 32), 1, 0, 3, 2, 4)

IMAGE = transpose(x(1, 3, 5, 32), 0, 2, 3, 1)

SUMS_OF_ROWS = call("SUM", x(1, 3, 5, 2, 37), ints(0, 4), keep_dims=True)

SUMS_OF_SEVERAL_ROWS = call("SUM", x(2, 3, 5, 2, 32), ints(2, 3, 4), keep_dims=True)

SUMS_OF_SEVERAL_RAGGED_ROWS = call("SUM", x(2, 3, 5, 2, 33), ints(3, 4), keep_dims=True)

SIDES = known(np.array([(0, 0)] * 4 + [(2, 1)], np.int32))

LONGER_ROWS = call("PAD", x(1, 2, 2, 3, 37), SIDES)

WIDE_IMAGE = transpose(x(1, 5, 5, 32), 0, 2, 3, 1)

PLANES = transpose(pooled(1, 5, 5, 21), 0, 3, 1, 2)

NARROW_PLANES = transpose(pooled(1, 5, 3, 21), 0, 3, 2, 1)

DEPTHS = call("RESIZE_BILINEAR", x(1, 5, 7, 1), ints(15, 21))

COLOURS = call("RESIZE_BILINEAR", x(1, 5, 7, 3), ints(15, 21))

SINES = call("SIN", call("MUL", x(3, 1, 5, 2, 32), x(3, 1, 5, 2, 1)))

RAGGED_SINES = call("SIN", call("MUL", x(3, 1, 5, 2, 37), x(3, 1, 5, 2, 1)))

ROWS_OF_THREE = call("SIN", x(3, 1, 5, 2, 3))

SHORT_SINES = call("SIN", call("MUL", x(3, 1, 5, 2, 7), x(3, 1, 5, 2, 1)))

TOP, _ = largest(x(2, 4000), 10)


def transposed(outputs: int, size: int, stride: int = 2) -> Value:
    attrs = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    shape = ints(1, 7 * stride, 11 * stride, outputs)
    return call("TRANSPOSE_CONV", shape, w(outputs, size, size, 32), pooled(1, 7, 11, 32), **attrs)


SHORT_SOFTMAX = call("SOFTMAX", x(3, 100), beta=1.0)


@pytest.mark.parametrize(
    ("value", "profile", "expected"),
    [
        (FEW_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv_thin"]),
        (FEW_OUTPUTS, "mali", ["to_sliced", "max_pool", "conv_thin"]),
        (FEW_OUTPUTS, "gpu", ["to_sliced", "max_pool", "conv_shared"]),
        (FEW_OUTPUTS_OF_MANY, "gpu", ["to_sliced", "max_pool", "conv_thin"]),
        (MORE_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv_thin"]),
        (MORE_OUTPUTS, "gpu", ["to_sliced", "max_pool", "conv_shared"]),
        (MANY_OUTPUTS, "cpu_avx512", ["to_sliced", "max_pool", "conv"]),
        (pooled(2, 9, 37, 1), "cpu_avx512", ["pool_rows"]),
        (pooled(2, 9, 37, 4), "cpu_avx512", ["pool_rows"]),
        (pooled(2, 9, 37, 5), "cpu_avx512", ["to_sliced", "max_pool"]),
        (pooled(2, 9, 37, 1), "gpu", ["to_sliced", "max_pool"]),
        (SQUARES, "cpu", ["to_sliced", "max_pool", "winograd"]),
        (FROM_ROWS, "cpu", ["to_sliced", "winograd"]),
        (FROM_ROWS, "gpu", ["conv_linear"]),
        (SQUARES, "gpu", ["to_sliced", "max_pool", "conv"]),
        (FEW_SQUARES, "cpu", ["to_sliced", "max_pool", "conv"]),
        (EMPTY_SQUARES, "cpu", ["to_sliced", "max_pool", "conv"]),
        (STRIDE, "cpu", ["to_sliced", "max_pool", "conv"]),
        (TOO_DEEP, "cpu", ["to_sliced", "max_pool", *STEPS]),
        (DEEP, "cpu", ["to_sliced", "max_pool", "winograd"]),
        (MORE_WEIGHTS, "cpu", ["to_sliced", "max_pool", *STEPS]),
        (DEEP, "mali", ["to_sliced", "max_pool", *STEPS]),
        (DEEP, "adreno", ["to_sliced", "max_pool", "conv_shared"]),
        (FIRST_LAYER, "cpu_avx512", ["conv_linear"]),
        (FIRST_LAYER, "gpu", ["conv_linear"]),
        (ONE_VECTOR, "gpu", ["max_pool", "split_sums"]),
        (ONE_VECTOR, "cpu_avx512", ["max_pool", "conv_1x1"]),
        (ROWS, "gpu", ["conv_1x1"]),
        (RAGGED_BYTES, "cpu_avx512_bytes", ["to_centered", "conv_bytes", "conv_bytes"]),
        (WINDOWS_OF_BYTES, "cpu_avx512_bytes", BYTES_IN_SLICES),
        (MEAN, "gpu", ["to_sliced", "max_pool", "reduce_group"]),
        (MEAN, "cpu_avx512", ["to_sliced", "max_pool", "reduce"]),
        (MEAN_OF_FEW, "gpu", ["to_sliced", "max_pool", "reduce"]),
        (SOFTMAX, "gpu", ["softmax_group_linear"]),
        (SOFTMAX, "cpu_avx512", ["softmax_rows"]),
        (ACROSS_ROWS, "cpu_avx512", ["softmax_columns"]),
        (ACROSS_ROWS, "gpu", ["softmax_linear"]),
        (SUMS_ACROSS_ROWS, "cpu_avx512", ["reduce_columns"]),
        (SUMS_ACROSS_ROWS, "gpu", ["reduce_linear"]),
        (SUMS_OF_RAGGED_ROWS, "cpu_avx512", ["reduce_columns"]),
        (SUMS_OF_ROWS, "cpu_avx512", ["reduce_rows"]),
        (SUMS_OF_ROWS, "gpu", ["reduce_group_linear"]),
        (SUMS_OF_SEVERAL_ROWS, "cpu_avx512", ["reduce_rows"]),
        (SUMS_OF_SEVERAL_RAGGED_ROWS, "cpu_avx512", ["reduce_linear"]),
        (WHOLE_ROWS, "cpu_avx512", ["move_rows"]),
        (WHOLE_ROWS, "gpu", ["move_linear"]),
        (IMAGE, "cpu_avx512", ["move_columns"]),
        (IMAGE, "gpu", ["move_linear"]),
        (PLANES, "cpu_avx512", ["to_sliced", "max_pool", "move_out_of_slices"]),
        (PLANES, "gpu", ["to_sliced", "max_pool", "move"]),
        (NARROW_PLANES, "cpu_avx512", ["to_sliced", "max_pool", "move"]),
        (DEPTHS, "cpu_avx512", ["resize_bilinear_planes"]),
        (DEPTHS, "gpu", ["to_sliced", "resize_bilinear"]),
        (COLOURS, "cpu_avx512", ["resize_bilinear_pixels"]),
        (COLOURS, "gpu", ["to_sliced", "resize_bilinear"]),
        (WIDE_IMAGE, "cpu_avx512", ["move_rows"]),
        (WIDE_IMAGE, "gpu", ["move_linear"]),
        (LONGER_ROWS, "cpu_avx512", ["move_rows"]),
        (LONGER_ROWS, "gpu", ["move_linear"]),
        (SINES, "cpu_avx512", ["elementwise_rows"]),
        (SINES, "gpu", ["elementwise_linear"]),
        (RAGGED_SINES, "cpu_avx512", ["elementwise_rows"]),
        (SHORT_SINES, "cpu_avx512", ["elementwise_rows"]),
        (ROWS_OF_THREE, "cpu_avx512", ["elementwise_rows"]),
        (ROWS_OF_THREE, "gpu", ["elementwise_linear"]),
        (TOP, "cpu_avx512", ["top_heap"]),
        (TOP, "gpu", ["top_blocks", *["top_merge"] * 3]),
        (transposed(4, 4), "cpu_avx512", ["to_sliced", "max_pool", "transpose_conv_thin"]),
        (transposed(4, 4), "adreno", ["to_sliced", "max_pool", "transpose_conv_thin"]),
        (transposed(4, 4), "mali", ["to_sliced", "max_pool", "transpose_conv"]),
        (transposed(4, 3), "adreno", ["to_sliced", "max_pool", "transpose_conv"]),
        (transposed(9, 2), "cpu_avx512", ["to_sliced", "max_pool", "transpose_conv_block"]),
        (transposed(9, 3), "nvidia", ["to_sliced", "max_pool", "transpose_conv_block"]),
        (transposed(9, 4), "nvidia", ["to_sliced", "max_pool", "transpose_conv_block"]),
        (transposed(9, 5), "nvidia", ["to_sliced", "max_pool", "transpose_conv"]),
        (transposed(9, 3, 3), "nvidia", ["to_sliced", "max_pool", "transpose_conv"]),
        (transposed(9, 3, 1), "nvidia", ["to_sliced", "max_pool", "conv_shared"]),
        (SHORT_SOFTMAX, "gpu", ["softmax_linear"]),
        (PRODUCT, "cpu_avx512", ["batch_matmul_columns"]),
        (TRANSPOSED, "cpu_avx512", ["move_squares", "batch_matmul_columns"]),
        (FEW_TRANSPOSED, "cpu_avx512", ["batch_matmul_products"]),
        (FEW_ROWS, "cpu_avx512", ["batch_matmul_columns"]),
        (FEW_COLUMNS, "cpu_avx512", ["batch_matmul_columns"]),
        (SINGLE_COLUMNS, "cpu_avx512", ["batch_matmul"]),
        (FEW_COLUMNS, "gpu", ["batch_matmul_columns"]),
    ],
)
def test_each_layer_gets_the_kernel_for_it(value: Value, profile: str, expected: list[str]) -> None:
    assert templates(value, profile) == expected
