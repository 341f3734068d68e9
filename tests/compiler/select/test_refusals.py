"""Refusals: all at once, each with the operator, the rule it breaks and what would help."""

from __future__ import annotations

import pytest

from tflgpu.compiler import Options, UnsupportedError, build
from tflgpu.compiler.errors import Finding
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor


def findings(*ops: Op) -> list[Finding]:
    """Why a model of these operators is refused; what none of them writes is an input."""
    graph = Graph()
    written = {tensor for op in ops for tensor in op.outputs}
    read = dict.fromkeys(tensor for op in ops for tensor in op.reads)
    graph.inputs = [tensor for tensor in read if tensor not in written]
    graph.outputs = [tensor for tensor in written if tensor not in read]
    graph.input_names = [tensor.name for tensor in graph.inputs]
    graph.output_names = [tensor.name for tensor in graph.outputs]
    for op in ops:
        graph.add(op)
    with pytest.raises(UnsupportedError) as caught:
        build(write(graph), Options(device="cpu", fallback="none"))
    return list(caught.value.findings)


def test_shapes_that_are_computed_and_unknown_operators_together() -> None:
    x, y, z = Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("z", (2, 3))
    times = Tensor("times", (2,), "int32")
    found = findings(Op("Riddle", (x,), (y,)), Op("TILE", (y, times), (z,), {}, 1))
    assert [(item.index, item.operator) for item in found] == [(0, "Riddle"), (1, "TILE")]
    assert "tflgpu does not know" in found[0].reason and "cut the model" in found[0].advice
    assert "times" in found[1].reason and "constant" in found[1].advice


def test_a_version_newer_than_known() -> None:
    (found,) = findings(Op("ABS", (Tensor("x", (3,)),), (Tensor("y", (3,)),), {}, 0, 99))
    assert found.reason == "version 99; versions up to 5 are known"
    assert "older runtime" in found.advice


def test_words_are_refused_by_the_operator_of_the_model() -> None:
    x, y = Tensor("x", (3,), "string"), Tensor("y", (3, 1), "string")
    (found,) = findings(Op("RESHAPE", (x,), (y,), {"new_shape": (3, 1)}))
    assert found.operator == "RESHAPE" and "x is string" in found.reason
    assert "words have to become numbers" in found.advice
