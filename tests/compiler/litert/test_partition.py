"""How a graph is divided into operators on the device and parts on LiteRT."""

from collections.abc import Sequence

import pytest
from graphs import parsed

from tflgpu.compiler.errors import Finding
from tflgpu.compiler.litert.partition import partition

pytestmark = pytest.mark.usefixtures("free_exchange")

CHAIN = """
    input x float32[1,5,7,11]
    a = TANH(x)
    b = ABS(a)
    c = NEG(b)
    d = COS(c)
    e = EXP(d)
    output e
"""


def partitioned(text: str, chosen: Sequence[int], dynamic: str = "") -> list[str]:
    """The lines of a graph with these operators on LiteRT; a run tells the shape of `dynamic`."""
    graph = parsed(text).graph
    for tensor in (tensor for op in graph.ops for tensor in op.outputs):
        tensor.dynamic = tensor.name == dynamic
    hosted = {
        op: Finding(op.index, op.name, "it is chosen") for op in graph.ops if op.index in chosen
    }
    partition(graph, hosted).apply(graph)
    graph.verify()
    return str(graph).splitlines()


def test_neighbours_are_one_part() -> None:
    assert partitioned(CHAIN, [1, 2]) == [
        "a = TANH(x)",
        "c = tflgpu.litert { b = ABS(a); c = NEG(b) }",
        "d = COS(c)",
        "e = EXP(d)",
    ]


def test_a_part_does_not_leave_and_come_back() -> None:
    assert partitioned(CHAIN, [1, 3]) == [
        "a = TANH(x)",
        "b = tflgpu.litert { b = ABS(a) }",
        "c = NEG(b)",
        "d = tflgpu.litert { d = COS(c) }",
        "e = EXP(d)",
    ]


def test_a_shortcut_past_the_device_crosses_on_the_host() -> None:
    text = """
        input x float32[1,5,7,11]
        a = ABS(x)
        b = NEG(a)
        c = ADD(a, b)
        output c
    """
    assert partitioned(text, [0, 2]) == [
        "a = tflgpu.litert { a = ABS(x) }",
        "b = NEG(a)",
        "c = tflgpu.litert { c = ADD(a, b) }",
    ]


def test_branches_side_by_side_are_one_part() -> None:
    text = """
        input x float32[1,5,7,11]
        a = ABS(x)
        b = NEG(x)
        c = ADD(a, b)
        output c
    """
    assert partitioned(text, [0, 1]) == [
        "a, b = tflgpu.litert { a = ABS(x); b = NEG(x) }",
        "c = ADD(a, b)",
    ]


def test_views_between_parts_do_not_cross() -> None:
    text = """
        input x float32[1,5,7,11]
        constant shape int32[4] = 1, 5, 7, 11
        a = ABS(x)
        b = RESHAPE(a, shape) new_shape=(1,5,7,11)
        c = NEG(b)
        output c
    """
    (line,) = partitioned(text, [0, 2])
    assert line.startswith("c = tflgpu.litert { a = ABS(x); b = RESHAPE(a, shape)")


def test_a_tensor_no_device_holds_draws_in_what_touches_it_and_what_lies_between() -> None:
    text = """
        input x float32[1,5,7,11]
        a = ABS(x)
        b = NEG(a)
        c = COS(b)
        d = ADD(c, a)
        e = EXP(d)
        output e
    """
    assert partitioned(text, [0], dynamic="a") == [
        "d = tflgpu.litert { a = ABS(x); b = NEG(a); c = COS(b); d = ADD(c, a) }",
        "e = EXP(d)",
    ]
