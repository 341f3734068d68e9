"""Composite operators recognised in what they are spelled in; numbers are compared in test_ops."""

from __future__ import annotations

import pytest
from cases.norms import NORMS, batches, layers, mean, root_mean_square
from cases.spellings import ACTIVATIONS, scaled, softmax
from graphs import Call, Value, call, ints, number, w, x
from rewrites import kernels, operators, reasons, text

RULE = "recognise_normalization"
ACTIVATION = "recognise_activation"
SOFTMAX = "recognise_softmax"


def image() -> Value:
    return x(2, 3, 5, 19)


@pytest.mark.parametrize("name", NORMS)
def test_every_spelling_of_a_norm(name: str) -> None:
    value = NORMS[name](image(), (3,), w(19), w(19))
    offset = "" if name == "root mean square" else "  ADD"
    assert operators(value, RULE) == f"tflgpu.normalization  MUL{offset}"
    assert kernels(value) == 1


def test_the_text_of_a_norm() -> None:
    before = text(layers(image(), (3,), w(19), w(19)), "drop_dead").splitlines()
    assert [line.split(" = ")[1].split("(")[0] for line in before] == [
        *("MEAN", "SUB", "MUL", "MEAN", "ADD", "RSQRT", "MUL", "MUL", "ADD")
    ]
    assert text(batches(image(), (1, 2), w(19), w(19)), RULE).splitlines() == [
        "t1 = tflgpu.normalization(x0) axes=(1,2) epsilon=0.0010000000474974513 centered=True",
        "t3 = MUL(t1, w2)",
        "t5 = ADD(t3, w4)",
    ]


def test_gain_and_offset_go_into_the_convolution_behind() -> None:
    norm = layers(image(), (3,), w(19), w(19))
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    value = call("CONV_2D", norm, w(7, 1, 1, 19), w(7), **window)
    names = operators(value, RULE, "fold_scale_before_conv")
    assert names == "tflgpu.normalization  CONV_2D"


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
    squares = Call("MEAN", (call("SQUARE", source), ints(0, 1)), {"keep_dims": False})
    return call("MUL", source, call("RSQRT", squares))


def across() -> Value:
    source = image()
    centered = call("SUB", source, mean(source, (1,)))
    factor = call("RSQRT", mean(call("SQUARE", centered), (3,)))
    return call("MUL", centered, factor)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (other_squares(), "the squares are not of distances from the mean"),
        (spread(w(19)), "what is added to the variance is not one number"),
        (spread(number(1e-3), root="LOG"), "no square root of the variance follows"),
        (spread(root="SQRT"), "what follows is not the values less their mean"),
        (half_a_norm(), "what follows is not the values less their mean"),
        (needed_mean(), "others need y/MEAN0.0, too"),
        (with_its_mean(), "others need y/MEAN0.0, too"),
        (divided_twice(), "others need y/RSQRT4.0, too"),
        (dropped_axes(), "the reduced axes are dropped"),
        (across(), "the mean is over other axes"),
    ],
    ids=lambda part: part[:40] if isinstance(part, str) else "",
)
def test_a_norm_declines(value: Value, reason: str) -> None:
    (found,) = reasons(value, RULE)
    assert found.startswith(reason)


def test_a_norm_without_a_mean_may_be_of_differences() -> None:
    value = root_mean_square(call("SUB", image(), image()), (3,), w(19), w(19))
    assert operators(value, RULE) == "SUB  tflgpu.normalization  MUL"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_spelling_of_an_activation(name: str) -> None:
    for value in ACTIVATIONS[name](call("ABS", image())).values():
        assert operators(value, ACTIVATION) == f"ABS  {name}"


def test_the_text_of_an_activation() -> None:
    value = ACTIVATIONS["GELU"](image())["of a cube"]
    assert operators(value) == "SQUARE  MUL  MUL  ADD  MUL  TANH  ADD  MUL  MUL"
    assert text(value, ACTIVATION) == "t1 = GELU(x0) approximate=True"
    value = ACTIVATIONS["GELU"](image())["of errors"]
    assert text(value, ACTIVATION) == "t1 = GELU(x0) approximate=False"


def test_activations_that_only_look_alike_stay() -> None:
    value = image()
    quick = call("MUL", value, call("LOGISTIC", scaled(value, 1.702)))
    swish = call("MUL", value, scaled(call("RELU6", call("ADD", value, number(2.9))), 1 / 6))
    other = call("MUL", value, call("LOGISTIC", image()))
    for value in (quick, swish, other):
        assert operators(value, ACTIVATION) == operators(value)


def test_an_activation_declines_where_its_parts_are_needed() -> None:
    value = image()
    gate = call("LOGISTIC", value)
    both = [call("MUL", value, gate), call("TANH", gate)]
    assert reasons(both, ACTIVATION) == ["others need y/LOGISTIC0.0, too"]


POWERS = call("EXP", image())


@pytest.mark.parametrize("shifted", [False, True])
def test_a_softmax(shifted: bool) -> None:
    assert text(softmax(image(), shifted), SOFTMAX) == "t1 = SOFTMAX(x0) beta=1.0 axis=3"
    rows = softmax(image(), shifted, axis=1)
    assert text(rows, SOFTMAX) == "t1 = SOFTMAX(x0) beta=1.0 axis=1"
    assert kernels(rows) == 1


def test_a_softmax_of_differences_keeps_them() -> None:
    value = softmax(call("SUB", image(), w(19)), shifted=False)
    assert operators(value, SOFTMAX) == "SUB  SOFTMAX"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            call("DIV", POWERS, call("SUM", POWERS, ints(1, 2), keep_dims=True)),
            "the sum is not over one axis, kept with size 1",
        ),
        (
            call("DIV", image(), call("SUM", image(), ints(3), keep_dims=True)),
            "what is added up are no powers",
        ),
        (
            call("DIV", w(19), call("SUM", call("EXP", image()), ints(3), keep_dims=True)),
            "not the powers are divided by their sum",
        ),
    ],
    ids=["two axes", "no powers", "another quotient"],
)
def test_a_softmax_declines(value: Value, reason: str) -> None:
    assert reasons(value, SOFTMAX) == [reason]
