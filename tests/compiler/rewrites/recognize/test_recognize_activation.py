"""Activations written as arithmetic; numbers are compared in tests/compiler/ops."""

import pytest
from cases.spellings import ACTIVATIONS, scaled
from graphs import Value, call, number, x
from rewriting import assert_becomes, assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.recognize.recognize_activation import recognize_activation


def image() -> Value:
    return x(2, 3, 5, 19)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_spelling(name: str) -> None:
    for value in ACTIVATIONS[name](call("ABS", image())).values():
        assert operators(value, recognize_activation) == f"ABS  {name}"


@pytest.mark.parametrize(("spelling", "approximate"), [("of a cube", True), ("of errors", False)])
def test_gelu_is_approximate_or_exact(spelling: str, approximate: bool) -> None:
    value = ACTIVATIONS["GELU"](image())[spelling]
    expected = f"y = GELU(y/in0) approximate={approximate}"
    assert_becomes(value, expected, recognize_activation)


def test_gelu_as_it_is_written() -> None:
    value = ACTIVATIONS["GELU"](image())["of a cube"]
    assert operators(value) == "SQUARE  MUL  MUL  ADD  MUL  TANH  ADD  MUL  MUL"


def quick() -> Value:
    value = image()
    return call("MUL", value, call("LOGISTIC", scaled(value, 1.702)))


def shifted() -> Value:
    value = image()
    return call("MUL", value, scaled(call("RELU6", call("ADD", value, number(2.9))), 1 / 6))


def of_another() -> Value:
    return call("MUL", image(), call("LOGISTIC", image()))


@pytest.mark.parametrize("value", [quick(), shifted(), of_another()], ids=["1.702", "2.9", "two"])
def test_similar_arithmetic_stays(value: Value) -> None:
    before, _ = rewritten(value)
    after, events = rewritten(value, recognize_activation)
    assert str(after) == str(before) and events == []


def test_it_declines_if_a_part_is_used_elsewhere() -> None:
    value = image()
    gate = call("LOGISTIC", value)
    both = [call("MUL", value, gate), call("TANH", gate)]
    assert_declines(both, "^y/LOGISTIC0.0 is also used elsewhere$", recognize_activation)
