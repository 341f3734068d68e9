"""Axes of size 1 that converters put elsewhere between two transposes."""

from pathlib import Path

import numpy as np
from graphs import Value, call, ints, known, reshape, transpose, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.layout.align_unit_axes import align_unit_axes
from tflgpu.compiler.rewrites.layout.move_transposes import move_transposes

STRIDES = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}


def normalized(channels: int = 19, length: int = 37) -> Value:
    """A convolution of one dimension and its group normalization, as PyTorch's converter writes it.

    The statistics are taken of [1,1,C,L], the values are scaled as [1,C,L].
    """
    image = call("ABS", x(1, 1, length, channels))
    first = transpose(image, 0, 3, 1, 2)
    values = call("TANH", reshape(first, 1, channels, length))
    group = reshape(values, 1, 1, channels, length)
    mean = call("MEAN", group, ints(2, 3), keep_dims=True)
    centered = call("SUB", group, mean)
    spread = call("MEAN", call("MUL", centered, centered), ints(2, 3), keep_dims=True)
    deviation = call("RSQRT", call("ADD", spread, known(np.full((1, 1, 1, 1), 1e-3, np.float32))))
    factor = call("MUL", deviation, w(1, 1, channels, 1))
    moved = call("ADD", call("MUL", call("NEG", mean), factor), w(1, 1, channels, 1))
    scaled = call("MUL", values, reshape(factor, 1, channels, 1))
    shifted = call("ADD", scaled, reshape(moved, 1, channels, 1))
    return call("RELU", transpose(reshape(shifted, 1, channels, 1, length), 0, 2, 3, 1))


def test_a_region_gets_the_shape_of_the_transpose() -> None:
    source = """
        input x float32[1,1,7,5]
        constant order int32[4] = 0, 3, 1, 2
        constant along int32[1] = 2
        constant added float32[1,5,1]
        t = TRANSPOSE(x, order)
        r = RESHAPE(t) new_shape=(1,5,7)
        m = MEAN(r, along) keep_dims=True
        s = SUB(r, m)
        a = ADD(s, added)
        y = RESHAPE(a) new_shape=(1,5,1,7)
        z = TANH(y)
        output z
    """
    expected = """
        t = TRANSPOSE(x, order)
        m/aligned = MEAN(t, m/axes) keep_dims=True
        s/aligned = SUB(t, m/aligned)
        a/aligned = ADD(s/aligned, added/aligned)
        z = TANH(a/aligned)
    """
    graph = assert_becomes(source, expected, align_unit_axes)
    assert graph.ops[1].constant(1).tolist() == [3]
    assert graph.ops[3].operand(1).shape == (1, 5, 1, 1)


def test_transposes_around_a_normalization_cancel() -> None:
    assert "TRANSPOSE" not in operators(normalized(), align_unit_axes, move_transposes)
    assert kernels(normalized()) < kernels(normalized(), align_unit_axes)


def causal(batch: int = 3, channels: int = 19, length: int = 37) -> Value:
    """Two causal convolutions of one dimension, as PyTorch's converter writes them."""
    image = call("ABS", x(batch, 1, length, channels))
    row = reshape(transpose(image, 0, 3, 1, 2), batch, channels, length)
    padded = call("PAD", row, known(np.array([[0, 0], [0, 0], [2, 0]], np.int32)))
    back = transpose(reshape(padded, batch, channels, 1, length + 2), 0, 2, 3, 1)
    return call("CONV_2D", back, w(5, 1, 3, channels), w(5), padding="VALID", **STRIDES)


def test_a_causal_convolution_pads_channels_last() -> None:
    assert "TRANSPOSE" not in operators(causal(), align_unit_axes, move_transposes)


def test_tables_and_axes_follow() -> None:
    source = """
        input x float32[2,1,7,5]
        constant order int32[4] = 0, 3, 1, 2
        constant begin int32[3] = 0, 0, 2
        constant size int32[3] = -1, 5, 4
        constant times int32[3] = 1, 1, 2
        t = TRANSPOSE(x, order)
        r = RESHAPE(t) new_shape=(2,5,7)
        s = SLICE(r, begin, size)
        d = TILE(s, times)
        c = CONCATENATION(d, r) axis=2
        y = RESHAPE(c) new_shape=(2,5,1,15)
        z = TANH(y)
        output z
    """
    expected = """
        t = TRANSPOSE(x, order)
        s/aligned = SLICE(t, s/input1, s/input2)
        d/aligned = TILE(s/aligned, d/input1)
        c/aligned = CONCATENATION(d/aligned, t) axis=3
        z = TANH(c/aligned)
    """
    graph = assert_becomes(source, expected, align_unit_axes)
    assert graph.ops[1].constant(1).tolist() == [0, 0, 0, 2]
    assert graph.ops[1].constant(2).tolist() == [-1, 5, 1, 4]
    assert graph.ops[2].constant(1).tolist() == [1, 1, 1, 2]


def test_what_stays() -> None:
    moved = reshape(transpose(x(1, 1, 7, 5), 0, 3, 1, 2), 1, 5, 7)
    assert_declines(call("TANH", moved), "^0 more values are reshaped$", align_unit_axes)
    plain = reshape(call("ABS", x(1, 5, 1, 7)), 1, 5, 7)
    kept = reshape(call("TANH", plain), 1, 5, 1, 7)
    assert operators(kept, align_unit_axes) == "ABS  RESHAPE  TANH  RESHAPE"
    merged = reshape(transpose(x(1, 3, 7, 5), 0, 3, 1, 2), 1, 5, 21)
    assert operators(call("TANH", merged), align_unit_axes) == "TRANSPOSE  RESHAPE  TANH"


def test_values_agree(tmp_path: Path) -> None:
    moved = call("ABS", reshape(transpose(x(1, 1, 7, 5), 0, 3, 1, 2), 1, 5, 7))
    reflected = call(
        "MIRROR_PAD", moved, known(np.array([[0, 0], [2, 1], [0, 3]], np.int32)), mode="REFLECT"
    )
    values = [
        normalized(),
        causal(),
        reshape(call("SOFTMAX", moved, beta=1.0), 1, 5, 1, 7),
        reshape(call("CONCATENATION", moved, x(1, 5, 3), axis=-1), 1, 5, 1, 10),
        reshape(
            call("SLICE", call("TILE", moved, ints(1, 2, 1)), ints(0, 3, 1), ints(1, 6, -1)),
            1,
            6,
            1,
            6,
        ),
        reshape(call("CONCATENATION", moved, x(4, 5, 7), axis=0), 5, 5, 1, 7),
        reshape(reflected, 1, 8, 1, 10),
        [reshape(moved, 1, 5, 1, 7), call("ADD", moved, w(7))],
        reshape(call("ADD", moved, x(1, 1, 7)), 5, 1, 7),
        reshape(call("SUM", moved, ints(0, 2), keep_dims=True), 1, 5, 1, 1),
        reshape(call("MAXIMUM", moved, x(3, 5, 7)), 3, 5, 1, 7),
    ]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    assert_agrees(tmp_path, *flat, off=[align_unit_axes])
