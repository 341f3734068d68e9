"""Normalizations written as arithmetic; numbers are compared in tests/compiler/ops."""

import pytest
from cases.norms import NORMS, converted, deviation, layers, mean, root_mean_square
from graphs import Value, call, ints, number, reshape, transpose, w, x
from rewriting import assert_becomes, assert_declines, kernels, operators, rewritten

from tflgpu.compiler.rewrites import LAYOUT
from tflgpu.compiler.rewrites.fold.fold_scales import fold_scale_before_conv
from tflgpu.compiler.rewrites.layout.keep_reduced_axes import keep_reduced_axes
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization


def image() -> Value:
    return x(2, 3, 5, 19)


@pytest.mark.parametrize("name", NORMS)
def test_every_spelling_of_a_norm(name: str) -> None:
    value = NORMS[name](image(), (3,), w(19), w(19))
    offset = "" if name == "root mean square" else "  ADD"
    names = operators(value, keep_reduced_axes, recognize_normalization)
    assert names == f"tflgpu.normalization  MUL{offset}"
    assert kernels(value) == 1


def test_gain_and_offset_remain_operators() -> None:
    before = "MEAN  SUB  MUL  MEAN  ADD  RSQRT  MUL  MUL  ADD"
    assert operators(layers(image(), (3,), w(19), w(19))) == before
    source = """
        input x float32[2,3,5,19]
        constant pixels int32[2] = 1, 2
        constant epsilon float32[] = 0.001
        constant gain float32[19]
        constant offset float32[19]
        m = MEAN(x, pixels) keep_dims=True
        d = SQUARED_DIFFERENCE(x, m)
        v = MEAN(d, pixels) keep_dims=True
        e = ADD(v, epsilon)
        r = RSQRT(e)
        g = MUL(r, gain)
        p = MUL(m, g)
        s = SUB(offset, p)
        q = MUL(x, g)
        y = ADD(q, s)
        output y
    """
    expected = """
        y/normalization0.0 = tflgpu.normalization(x) axes=(1,2) epsilon=0.0010000000474974513 \
centered=True
        y/mul1.0 = MUL(y/normalization0.0, gain)
        y = ADD(y/mul1.0, offset)
    """
    assert_becomes(source, expected, recognize_normalization)


def test_gain_and_offset_go_into_the_convolution_that_follows() -> None:
    norm = layers(image(), (3,), w(19), w(19))
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    value = call("CONV_2D", norm, w(7, 1, 1, 19), w(7), **window)
    names = operators(value, recognize_normalization, fold_scale_before_conv)
    assert names == "tflgpu.normalization  CONV_2D"


@pytest.mark.parametrize("gain", [True, False])
def test_groups_of_a_transposed_image(gain: bool) -> None:
    """The norm is one of the image as its convolutions have it, and of the shape of its groups."""
    value = converted((2, 5, 7, 64), 16, gain=gain)
    affine = "  MUL  ADD" if gain else ""
    assert operators(value, *LAYOUT, recognize_normalization) == f"tflgpu.normalization{affine}"
    (norm, *_) = rewritten(value, *LAYOUT, recognize_normalization)[0].ops
    assert (norm.attrs["axes"], norm.attrs["shape"]) == ((1, 3), (2, 35, 16, 4))
    assert kernels(value) == 1


def test_groups_that_are_axes_of_the_image_keep_its_shape() -> None:
    for groups, axes in {1: (1, 2, 3), 64: (1, 2)}.items():
        value = converted((2, 5, 7, 64), groups, gain=True)
        (norm, *_) = rewritten(value, *LAYOUT, recognize_normalization)[0].ops
        assert (norm.attrs["axes"], "shape" in norm.attrs) == (axes, False)


@pytest.mark.parametrize("place", [1, 2])
def test_factors_are_those_of_the_groups(place: int) -> None:
    """There are as many rows and columns of the image as channels."""
    source = x(1, 16, 16, 16)
    values = reshape(transpose(source, 0, 3, 1, 2), 1, 16, 1, 256)
    center = mean(values, (2, 3))
    apart = call("SUB", values, center)
    factor = deviation(call("MUL", apart, apart), (2, 3))
    moved = call("MUL", call("MUL", center, number(-1)), factor)
    shape = [16 if axis == place else 1 for axis in range(4)]
    scaled = call("MUL", source, reshape(factor, *shape))
    value = call("ADD", scaled, reshape(moved, *shape))
    assert "tflgpu.normalization" not in operators(value, *LAYOUT, recognize_normalization)


def test_what_follows_a_norm_is_not_taken_for_its_gain() -> None:
    """An activation that multiplies the values by a function of them."""
    norm = layers(image(), (1, 2), number(1), number(0))
    value = call("MUL", norm, call("LOGISTIC", norm))
    names = operators(value, recognize_normalization)
    assert names == "tflgpu.normalization  MUL  ADD  LOGISTIC  MUL"


def other_squares() -> Value:
    squares = mean(call("SQUARED_DIFFERENCE", image(), w(2, 3, 5, 1)), (3,))
    return call("RSQRT", squares)


def spread(*added: Value, root: str = "RSQRT") -> Value:
    source = image()
    center = call("SUB", source, mean(source, (3,)))
    variance: Value = mean(call("SQUARE", center), (3,))
    for term in added:
        variance = call("ADD", variance, term)
    return call("MUL", center, call(root, variance))


def half_a_norm() -> Value:
    source = image()
    difference = call("SQUARED_DIFFERENCE", source, mean(source, (3,)))
    return call("MUL", source, call("RSQRT", mean(difference, (3,))))


def needed_mean() -> list[Value]:
    source = image()
    center = mean(source, (3,))
    factor = call("RSQRT", mean(call("SQUARED_DIFFERENCE", source, center), (3,)))
    return [call("MUL", call("SUB", source, center), factor), call("TANH", center)]


def with_its_mean() -> Value:
    """(x - m) r + m."""
    source = image()
    center = mean(source, (3,))
    centered = call("SUB", source, center)
    factor = call("RSQRT", mean(call("SQUARE", centered), (3,)))
    return call("ADD", call("MUL", centered, factor), center)


def divided_twice() -> Value:
    """(x - m) r r."""
    source = image()
    centered = call("SUB", source, mean(source, (3,)))
    factor = call("RSQRT", mean(call("SQUARE", centered), (3,)))
    return call("MUL", call("MUL", centered, factor), factor)


def dropped_axes() -> Value:
    source = image()
    squares = call("MEAN", call("SQUARE", source), ints(0, 1), keep_dims=False)
    return call("MUL", source, call("RSQRT", squares))


def across() -> Value:
    source = image()
    centered = call("SUB", source, mean(source, (1,)))
    factor = call("RSQRT", mean(call("SQUARE", centered), (3,)))
    return call("MUL", centered, factor)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (other_squares(), "the squared distances are not from the mean"),
        (spread(w(19)), "the epsilon added to the variance is not a scalar constant"),
        (spread(number(1e-3), root="LOG"), "no square root is taken of the variance"),
        (spread(root="SQRT"), "the values minus their mean are not divided by the deviation"),
        (half_a_norm(), "the values minus their mean are not divided by the deviation"),
        (needed_mean(), "y/MEAN0.0 is also used elsewhere"),
        (with_its_mean(), "y/MEAN0.0 is also used elsewhere"),
        (divided_twice(), "y/RSQRT4.0 is also used elsewhere"),
        (dropped_axes(), "the variance does not keep the reduced axes"),
        (across(), "mean and variance are over different axes"),
    ],
    ids=lambda part: part[:40] if isinstance(part, str) else "",
)
def test_it_declines(value: Value | list[Value], reason: str) -> None:
    assert_declines(value, f"^{reason}", recognize_normalization)


def test_a_norm_without_a_mean_may_be_of_differences() -> None:
    value = root_mean_square(call("SUB", image(), image()), (3,), w(19), w(19))
    assert operators(value, recognize_normalization) == "SUB  tflgpu.normalization  MUL"
