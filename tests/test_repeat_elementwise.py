"""Cheap elementwise operators that each of several readers computes for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import Value, call, ints, number, w, x
from rewrites import PROFILES, assert_agrees, compiled, operators, reasons, text

from tflgpu.runtime.plan.records import Plan

RULES = ("fuse_elementwise", "repeat_elementwise")
RULE = "repeat_elementwise"
STEPS = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
POOL = {"padding": "VALID", "filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 3, 3, inputs), w(outputs), **STEPS)


def of_an_input() -> list[Value]:
    """Read by an elementwise operator and behind a convolution."""
    image = x(2, 5, 7, 19)
    value = call("RELU", image)
    return [call("SUB", value, x(2, 5, 7, 19)), call("MUL", conv(x(2, 5, 7, 3), 19, 3), value)]


def of_a_result() -> list[Value]:
    """Of several steps and both operands of readers; the pooling keeps it a kernel of its own."""
    image = call("MAX_POOL_2D", x(1, 7, 9, 19), **POOL)
    value = call("RELU6", call("ADD", call("MUL", image, w(19)), number(3)))
    other = call("TANH", conv(x(1, 3, 4, 3), 19, 3))
    behind = call("SUB", call("EXP", call("MUL", other, value)), value)
    negated = conv(call("MUL", value, call("NEG", value)), 3, 19)
    return [conv(image, 5, 19), negated, behind]


def of_rank_five() -> list[Value]:
    """Row-major, with an operand that broadcasts."""
    value = call("ABS", call("SUB", x(2, 3, 1, 5, 7), w(3, 1, 5, 1)))
    return [call("MAXIMUM", value, number(0.5)), call("DIV", w(2, 3, 1, 5, 7), value)]


def weighed(source: Value, gate: Value, readers: int) -> list[Value]:
    value = call("MUL", source, gate)
    return [call("MAXIMUM", value, number(n)) for n in range(readers)]


def moved(plan: Plan) -> int:
    """Bytes that the kernels of a plan read and write."""
    return sum(argument.size for item in plan.dispatches for argument in item.arguments)


def test_the_text() -> None:
    assert operators(of_an_input(), *RULES) == "RELU | SUB  CONV_2D | RELU | MUL"
    lines = text(of_an_input(), *RULES).splitlines()
    assert lines[1].split(" | ", 1)[1] == "RELU(x0) | MUL(%0, %1)"
    assert operators(of_a_result(), *RULES) == (
        "MAX_POOL_2D  CONV_2D  MUL | ADD | RELU6 | NEG | MUL  CONV_2D  "
        "CONV_2D | MUL | ADD | RELU6 | TANH | MUL | EXP | SUB"
    )


@pytest.mark.parametrize("name", PROFILES)
def test_less_is_moved_and_nothing_larger_kept(name: str) -> None:
    for value in (of_an_input(), of_a_result(), of_rank_five()):
        repeated, stored = (compiled(value, name, *off).plan for off in ((), (RULE,)))
        assert len(repeated.dispatches) <= len(stored.dispatches)
        assert moved(repeated) < moved(stored)
        assert repeated.memory.planned <= stored.memory.planned


def test_it_declines() -> None:
    image = x(2, 5, 7, 19)
    value = call("RELU", image)
    taps = [call("NEG", value), conv(value, 3, 19)]
    assert reasons(taps, RULE) == ["CONV_2D may need an element more than once"]
    assert reasons([value, call("NEG", value), call("ABS", value)], RULE) == [
        "the model gives the value"
    ]
    power = call("EXP", image)
    assert reasons([call("NEG", power), call("ABS", power)], RULE) == [
        "computing EXP again costs more than reading what it gave"
    ]
    row = call("RELU", x(19))
    wide = [call("MUL", row, image), call("ADD", row, image)]
    assert reasons(wide, RULE) == ["the value broadcasts"]


def test_it_declines_where_more_is_read_or_kept() -> None:
    first, second = x(2, 5, 7, 19), x(2, 5, 7, 19)
    assert reasons(weighed(first, second, 2), RULE) == []
    assert reasons(weighed(first, second, 4), RULE) == [
        "10640 values instead of 9310 would be moved"
    ]
    views = [call("RESHAPE", call("CUMSUM", x(2, 35, 19), ints(1)), ints(70, 19)) for _ in range(2)]
    assert reasons(weighed(views[0], views[1], 2), *RULES)[-1] == (
        "2660 values instead of 1330 would be kept for longer"
    )
    assert "MAXIMUM" not in operators(weighed(views[0], w(19), 2), *RULES).split("  ")


@pytest.mark.parametrize(
    "build", [of_an_input, of_a_result, of_rank_five], ids=lambda f: f.__name__
)
def test_numbers_agree(build: object, tmp_path: Path) -> None:
    assert callable(build)
    assert_agrees(build(), tmp_path, RULE)
