"""Axes of size 1 that converters put elsewhere between two transposes."""

from pathlib import Path

import numpy as np
from graphs import Value, call, ints, known, reshape, transpose, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.layout.align_unit_axes import align_unit_axes
from tflgpu.compiler.rewrites.layout.move_transposes import move_transposes


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
    values = [
        normalized(),
        [reshape(moved, 1, 5, 1, 7), call("ADD", moved, w(7))],
        reshape(call("ADD", moved, x(1, 1, 7)), 5, 1, 7),
        reshape(call("SUM", moved, ints(0, 2), keep_dims=True), 1, 5, 1, 1),
        reshape(call("MAXIMUM", moved, x(3, 5, 7)), 3, 5, 1, 7),
    ]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    assert_agrees(tmp_path, *flat, off=[align_unit_axes])
