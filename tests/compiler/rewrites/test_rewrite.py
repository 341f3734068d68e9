"""What a rewrite must leave behind, and the events it gives."""

import pytest
from graphs import parsed
from graphs.operators import graph_of

from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import PassError
from tflgpu.compiler.events import Event
from tflgpu.compiler.ir import Graph, Op, Origin, Tensor
from tflgpu.compiler.rewrites.rewrite import check, rewrite
from tflgpu.compiler.target import Target

TARGET = Target(profile("cpu"))

CHAIN = """
    input x float32[5]
    a = ABS(x)
    b = ABS(a)
    y = NEG(b)
    output y
"""


def test_a_rewrite_that_breaks_the_graph_is_named() -> None:
    @rewrite("ABS")
    def break_it(graph: Graph, op: Op) -> str | None:
        op.set_operands((Tensor("nowhere", (5,)),))
        return None

    with pytest.raises(PassError, match="the rewrite break_it broke the graph"):
        break_it(parsed("input x float32[5]\n y = ABS(x)\n output y").graph, TARGET)


def test_a_graph_is_checked_as_a_whole() -> None:
    graph = graph_of(outputs=[Tensor("y", (5,))])
    with pytest.raises(PassError, match="the model's output y is never written"):
        check(graph, "some rewrite", everything=True)


@pytest.mark.parametrize(("backwards", "expected"), [(False, "a, b"), (True, "b, a")])
def test_operators_are_matched_in_order_or_in_reverse(backwards: bool, expected: str) -> None:
    met = []

    @rewrite("ABS", backwards=backwards)
    def meet(graph: Graph, op: Op) -> str | None:
        met.append(op.output.name)
        return "only looking"

    events = meet(parsed(CHAIN).graph, TARGET)
    assert ", ".join(met) == expected
    assert {event.reason for event in events} == {"only looking"}


def test_a_chain_matches_only_readers_that_are_alone() -> None:
    @rewrite("ABS", {"ABS", "NEG"})
    def find(graph: Graph, first: Op, second: Op) -> str | None:
        return "only looking"

    graph = parsed(CHAIN).graph
    assert [event.operators for event in find(graph, TARGET)] == [
        ("0 ABS", "1 ABS"),
        ("1 ABS", "2 NEG"),
    ]
    graph.outputs.append(graph.ops[0].output)
    assert [event.operators for event in find(graph, TARGET)] == [("1 ABS", "2 NEG")]


def test_a_remaining_operator_takes_over_the_origins_of_those_removed() -> None:
    @rewrite("ABS", "ABS")
    def merge(graph: Graph, first: Op, second: Op) -> str | None:
        graph.bypass(first)
        return None

    graph = parsed(CHAIN).graph
    for op in graph.ops:
        op.origins = (Origin(op.index, op.name),)
    (event,) = merge(graph, TARGET)
    assert event == Event("merge", ("0 ABS", "1 ABS"), None)
    assert [op.origins for op in graph.ops] == [
        (Origin(0, "ABS"), Origin(1, "ABS")),
        (Origin(2, "NEG"),),
    ]


def test_an_event_as_plain_data() -> None:
    assert Event("merge", ("3 ABS",), "why").as_dict() == {
        "pass": "merge",
        "applied": False,
        "operators": ["3 ABS"],
        "reason": "why",
    }
