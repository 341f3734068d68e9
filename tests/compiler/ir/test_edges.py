"""What leads to which in a graph, and in which order."""

import re

import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.ir.edges import Edges

A, B, C, D = (Tensor(name, (2,), "float32") for name in "abcd")


def abs_(operand: Tensor, result: Tensor, index: int = 0) -> Op:
    return Op("ABS", (operand,), (result,), {}, index)


def test_neighbours_stay_in_the_order_in_which_they_came() -> None:
    edges = Edges()
    first, second, third = (abs_(A, result) for result in (B, C, D))
    for op in (second, first, third, second):
        edges.join(A, op)
    edges.join(third, D)
    assert [*edges] == [A, second, first, third, D]
    assert [*edges.after(A)] == [second, first, third]
    edges.part(A, second)
    edges.join(A, second)
    assert [*edges.after(A)] == [first, third, second]
    assert edges.joins(A, first) and not edges.joins(first, A) and not edges.joins(B, first)


def test_a_node_is_removed_with_its_edges() -> None:
    edges = Edges()
    op = abs_(A, B)
    edges.join(A, op)
    edges.join(op, B)
    edges.remove(op)
    assert op not in edges and [*edges] == [A, B]
    assert not edges.after(A) and not edges.before(B)
    edges.add(op)
    assert [*edges] == [A, B, op] and not edges.before(op) and not edges.after(op)


def test_a_cycle_is_named() -> None:
    """Without what leads to it and what it leads to."""
    graph = Graph()
    operands = [(A, B), (D, C), (B, D), (C, Tensor("e", (2,), "float32"))]
    for index, (operand, result) in enumerate(operands):
        graph.add(abs_(operand, result, index))
    assert [op.index for op in graph.ops] == [0, 2, 1, 3]
    graph.add(Op("ADD", (C, A), (Tensor("f", (2,), "float32"),), {}, 4))
    graph.set_inputs(graph.ops[1], [C])
    wanted = "the operators form a cycle: "
    with pytest.raises(ModelError, match=f"^{re.escape(wanted)}") as raised:
        graph.verify()
    names = str(raised.value).removeprefix(wanted).split(" -> ")
    start = names.index("d")
    assert [*names[start:], *names[:start]] == ["d", "ABS", "c", "ABS"]
