"""Composite operators are replaced by their subgraphs."""

import pytest
from graphs.operators import graph_of

from tflgpu.compiler import ModelError
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.rewrites.canonicalize.resolve_control_flow import inline_subgraphs
from tflgpu.compiler.target import Target

TARGET = Target(profile("cpu"))
COMPOSITE = "STABLEHLO_COMPOSITE"


def unary(operator: str, calls: int | None = None) -> Graph:
    """A graph y = operator(x), which calls a subgraph if it is a composite."""
    x, y = Tensor("x", (5,)), Tensor("y", (5,))
    attrs = {} if calls is None else {"decomposition_subgraph_index": calls}
    return graph_of(Op(operator, (x,), (y,), attrs))


def test_nested_composites_become_their_operators() -> None:
    graph = unary(COMPOSITE, 1)
    graph.subgraphs = {1: unary(COMPOSITE, 2), 2: unary("TANH")}
    events = inline_subgraphs(graph, TARGET)
    assert [event.operators for event in events] == [(f"0 {COMPOSITE}",)] * 2
    (op,) = graph.ops
    assert op.name == "TANH" and op.operand(0) is graph.inputs[0]
    assert op.output is graph.outputs[0]


def test_a_composite_that_calls_itself_is_refused() -> None:
    graph = unary(COMPOSITE, 1)
    graph.subgraphs = {1: unary(COMPOSITE, 1)}
    with pytest.raises(ModelError, match=f"operator 0 {COMPOSITE} calls itself"):
        inline_subgraphs(graph, TARGET)


def test_a_subgraph_with_other_inputs_is_refused() -> None:
    graph = unary(COMPOSITE, 1)
    graph.subgraphs = {1: unary("TANH")}
    graph.subgraphs[1].inputs.append(Tensor("more", (5,)))
    reason = "has 1 inputs and 1 outputs, but its subgraph has 2 and 1"
    with pytest.raises(ModelError, match=reason):
        inline_subgraphs(graph, TARGET)
