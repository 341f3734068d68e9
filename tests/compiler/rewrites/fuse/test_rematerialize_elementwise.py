"""Cheap elementwise operators that each of several readers computes itself."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, number, w, x
from rewriting import PROFILES, assert_agrees, compiled, operators, reasons, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.rematerialize_elementwise import rematerialize_elementwise
from tflgpu.runtime.plan.records import Plan

PASSES = (fuse_elementwise, rematerialize_elementwise)
STEPS = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
POOL = {"padding": "VALID", "filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}


def conv(image: Value, outputs: int, inputs: int) -> Value:
    return call("CONV_2D", image, w(outputs, 3, 3, inputs), w(outputs), **STEPS)


def of_an_input() -> list[Value]:
    """Read by an elementwise operator and in the epilogue of a convolution."""
    image = x(2, 5, 7, 19)
    value = call("RELU", image)
    return [call("SUB", value, x(2, 5, 7, 19)), call("MUL", conv(x(2, 5, 7, 3), 19, 3), value)]


def of_a_result() -> list[Value]:
    """Several operators, either operand of readers; the pooling has other readers, too."""
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


def multiplied(source: Value, gate: Value, readers: int) -> list[Value]:
    value = call("MUL", source, gate)
    return [call("MAXIMUM", value, number(n)) for n in range(readers)]


def moved(plan: Plan) -> int:
    """Bytes that the kernels of a plan read and write."""
    return sum(argument.size for item in plan.dispatches for argument in item.arguments)


def test_readers_compute_it_themselves() -> None:
    assert operators(of_an_input(), *PASSES) == "RELU | SUB  CONV_2D | RELU | MUL"
    graph, _ = rewritten(of_an_input(), *PASSES)
    assert [op.name for op in graph.ops[1].epilogue] == ["RELU", "MUL"]
    assert graph.ops[1].epilogue_inputs == (graph.inputs[0],)
    assert operators(of_a_result(), *PASSES) == (
        "MAX_POOL_2D  CONV_2D  MUL | ADD | RELU6 | NEG | MUL  CONV_2D  "
        "CONV_2D | MUL | ADD | RELU6 | TANH | MUL | EXP | SUB"
    )


@pytest.mark.parametrize("name", PROFILES)
def test_less_is_moved_and_nothing_larger_kept(name: str) -> None:
    for value in (of_an_input(), of_a_result(), of_rank_five()):
        repeated, stored = (
            compiled(value, name, *off).plan for off in ((), (rematerialize_elementwise,))
        )
        assert len(repeated.dispatches) <= len(stored.dispatches)
        assert moved(repeated) < moved(stored)
        assert repeated.memory.planned <= stored.memory.planned


def test_it_declines() -> None:
    image = x(2, 5, 7, 19)
    value = call("RELU", image)
    taps = [call("NEG", value), conv(value, 3, 19)]
    assert reasons(taps, rematerialize_elementwise) == [
        "CONV_2D may read an element more than once"
    ]
    assert reasons([value, call("NEG", value), call("ABS", value)], rematerialize_elementwise) == [
        "it is an output of the model"
    ]
    power = call("EXP", image)
    assert reasons([call("NEG", power), call("ABS", power)], rematerialize_elementwise) == [
        "recomputing EXP takes longer than reading its result"
    ]
    row = call("RELU", x(19))
    wide = [call("MUL", row, image), call("ADD", row, image)]
    assert reasons(wide, rematerialize_elementwise) == ["the value broadcasts"]


def test_it_declines_where_more_is_read_or_kept() -> None:
    first, second = x(2, 5, 7, 19), x(2, 5, 7, 19)
    assert reasons(multiplied(first, second, 2), rematerialize_elementwise) == []
    assert reasons(multiplied(first, second, 4), rematerialize_elementwise) == [
        "10640 values instead of 9310 would be moved"
    ]
    views = [call("RESHAPE", call("CUMSUM", x(2, 35, 19), ints(1)), ints(70, 19)) for _ in range(2)]
    assert reasons(multiplied(views[0], views[1], 2), *PASSES)[-1] == (
        "2660 values instead of 1330 would stay alive longer"
    )
    assert "MAXIMUM" not in operators(multiplied(views[0], w(19), 2), *PASSES).split("  ")


@pytest.mark.parametrize(
    "value",
    [of_an_input(), of_a_result(), of_rank_five()],
    ids=["of an input", "of a result", "of rank 5"],
)
def test_numbers_agree(value: list[Value], tmp_path: Path) -> None:
    assert_agrees(tmp_path, value, off=[rematerialize_elementwise])
