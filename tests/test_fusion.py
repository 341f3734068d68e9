"""Elementwise operators in the store of what feeds them: chains, diamonds, broadcasts."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import Value, call, ints, typed, w, x
from rewrites import assert_agrees, kernels, operators, reasons, text

RULE = "fuse_elementwise"
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 1, 1, inputs), w(outputs), **WINDOW)


def silu() -> Value:
    value = conv(x(1, 5, 7, 3), 19, 3)
    return call("MUL", value, call("LOGISTIC", value))


def hard_swish() -> Value:
    value = conv(x(1, 5, 7, 3), 19, 3)
    gate = call("RELU6", call("ADD", value, w()))
    return call("MUL", call("MUL", value, gate), w())


def two_sided() -> Value:
    value = conv(x(1, 5, 7, 3), 19, 3)
    return call("SUB", call("TANH", value), call("RELU", value))


def residual() -> Value:
    value = conv(x(1, 5, 7, 3), 19, 3)
    return call("RELU", call("ADD", conv(value, 19, 19), value))


def squeeze_and_excite() -> Value:
    value = conv(x(1, 5, 7, 3), 19, 3)
    return call("MUL", value, call("LOGISTIC", conv(x(1, 1, 1, 11), 19, 11)))


def test_a_diamond_is_one_kernel() -> None:
    assert operators(silu()) == "CONV_2D  LOGISTIC  MUL"
    assert operators(silu(), RULE) == "CONV_2D | LOGISTIC | MUL"
    assert text(silu(), RULE).endswith("| LOGISTIC(%0) | MUL(%0, %1)")
    assert operators(two_sided(), RULE) == "CONV_2D | TANH | RELU | SUB"
    assert kernels(silu()) == 1
    assert kernels(two_sided()) == 1
    assert kernels(two_sided(), RULE, "fuse_second_output") == 4


def test_what_others_need_too_is_stored() -> None:
    assert operators(residual(), RULE) == "CONV_2D  CONV_2D | ADD | RELU"
    value = conv(x(1, 5, 7, 3), 19, 3)
    both = [value, call("RELU", value)]
    assert reasons(both, RULE) == ["others need the value, too"]


def test_what_cannot_be_in_a_store() -> None:
    view = call("RESHAPE", call("CUMSUM", x(4, 9), ints(0)), ints(36), new_shape=(36,))
    assert reasons(call("TANH", view), RULE) == ["RESHAPE takes in no elementwise operators"]
    chosen = call("SELECT", typed("bool", "GREATER", x(7), w(7)), w(7), w(7))
    assert set(reasons(call("TANH", chosen), RULE)) == {"not all values are float32"}


def test_a_value_that_broadcasts_is_stored() -> None:
    assert operators(squeeze_and_excite(), RULE) == "CONV_2D | MUL  CONV_2D | LOGISTIC" or (
        operators(squeeze_and_excite(), RULE) == "CONV_2D | LOGISTIC  CONV_2D | MUL"
    )


@pytest.mark.parametrize(
    "build", [silu, hard_swish, two_sided, residual, squeeze_and_excite], ids=lambda f: f.__name__
)
def test_numbers_agree(build: object, tmp_path: Path) -> None:
    assert callable(build)
    assert_agrees(build(), tmp_path, RULE)
