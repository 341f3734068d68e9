"""The edges that the report finds in a plan, against those of the graph it was compiled from."""

from pathlib import Path

import numpy as np
import pytest
from graphs.custom import swirled
from graphs.hosted import crossing, elementwise
from graphs.operators import file_of
from paths import DIGITS_MODEL

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Op, Tensor, constant
from tflgpu.compiler.options import Options
from tflgpu.compiler.pipeline import build
from tflgpu.compiler.report.contents import parts_of
from tflgpu.compiler.report.dataflow import Edge, edges
from tflgpu.runtime.plan.records import Plan

UNFUSED = ("fuse_elementwise", "fuse_depthwise", "fuse_second_output", "fuse_fully_connected_chain")


def plan_of(model: bytes | Path, **options: object) -> Plan:
    chosen = {"device": "gpu", **options}
    return build(model if isinstance(model, bytes) else str(model), Options(**chosen)).plan  # type: ignore[arg-type]


def named(plan: Plan, edge: Edge) -> tuple[str, str]:
    """An edge between the tensors that its ends write, without the compiler's additions."""

    def tensor(name: str) -> str:
        if name.startswith("dispatch"):
            return plan.dispatches[int(name[8:])].label.partition(" -> ")[2]
        return name

    return tensor(edge.source), tensor(edge.target)


def test_edges_follow_a_chain() -> None:
    plan = plan_of(DIGITS_MODEL)
    count = len(plan.dispatches)
    found = {(edge.source, edge.target) for edge in edges(plan)}
    assert ("input0", "dispatch0") in found
    assert (f"dispatch{count - 1}", "output0") in found
    # Everything is read by something, and nothing reads what comes later.
    assert {source for source, _ in found} == {"input0", *(f"dispatch{i}" for i in range(count))}
    for source, target in found:
        if source.startswith("dispatch") and target.startswith("dispatch"):
            assert int(source[8:]) < int(target[8:])


def test_edges_lead_from_the_last_tensor_in_memory() -> None:
    """Memory is used again, and yet an edge goes to the last tensor there only."""
    lines = [("a", "x", "TANH"), ("b", "a", "SIN"), ("c", "b", "COS"), ("d", "c", "EXP")]
    graph = elementwise([*lines, ("e", "ad", "MUL"), ("f", "e", "SIN"), ("g", "fb", "ADD")], ["g"])
    plan = plan_of(write(graph), disable_passes=(*UNFUSED, "recognize_activation"))
    found = {named(plan, edge) for edge in edges(plan)}
    assert found == {
        *{("input0", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("d", "e")},
        *{("e", "f"), ("f", "g"), ("b", "g"), ("g", "output0")},
    }


def test_both_halves_of_a_concatenation() -> None:
    """Kernels that write into parts of one tensor are both read through it."""
    shape, whole = (1, 5, 7, 3), (1, 5, 7, 6)
    given, joined, result = Tensor("x", shape), Tensor("joined", whole), Tensor("y", (1, 5, 7, 2))
    halves = [Tensor(name, shape) for name in "ab"]
    weights = constant("w", np.ones((2, 1, 1, 6), np.float32))
    bias = constant("bias", np.ones(2, np.float32))
    window = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    dilation = {"dilation_w_factor": 1, "dilation_h_factor": 1}
    content = file_of(
        *(Op(name, (given,), (half,)) for name, half in zip(("TANH", "SIN"), halves, strict=True)),
        Op("CONCATENATION", halves, (joined,), {"axis": 3}),
        Op("CONV_2D", (joined, weights, bias), (result,), window | dilation),
    )
    plan = plan_of(content)
    reached = {"y"}
    found = {named(plan, edge) for edge in edges(plan)}
    for _ in plan.dispatches:
        reached |= {source for source, target in found if target in reached}
    assert {"a", "b", "input0"} < reached


@pytest.mark.usefixtures("free_exchange")
def test_parts_on_litert() -> None:
    plan = plan_of(crossing(), fallback_ops=("COS", "CONCATENATION"))
    assert len(plan.parts) == 2
    found = edges(plan)
    for number, part in enumerate(plan.parts):
        into = [edge for edge in found if edge.target == f"part{number}"]
        out = [edge for edge in found if edge.source == f"part{number}"]
        assert into and out
        shapes = {plan.host_tensors[index].shape for index in part.inputs}
        assert {edge.shape for edge in into} == shapes
    assert {edge.target for edge in found} >= {f"output{i}" for i in range(len(plan.outputs))}


@pytest.mark.usefixtures("free_exchange")
def test_an_output_that_a_part_computes() -> None:
    plan = plan_of(crossing(), fallback_ops=("RELU",))
    written = [host.output for host in plan.host_tensors if host.output >= 0]
    assert len(plan.parts) == 1 and written
    found = {(edge.source, edge.target) for edge in edges(plan)}
    assert {("part0", f"output{index}") for index in written} <= found


def test_a_function_of_the_application() -> None:
    plan = plan_of(swirled(), custom_ops=("Swirl",))
    (part,) = parts_of(plan, None, None)
    assert part["host"] == "Python" and part["file"] == plan.parts[0].file
    found = {edge.target for edge in edges(plan)} | {edge.source for edge in edges(plan)}
    assert "part0" in found
