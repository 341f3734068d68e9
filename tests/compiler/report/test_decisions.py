"""The graph in the model file, and the compiler's choices, worked out again."""

from dataclasses import replace

import pytest
from graphs import call, model, number, quantized, x, xq
from paths import DIGITS_MODEL

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.options import Options
from tflgpu.compiler.pipeline import build
from tflgpu.compiler.report.decisions import decide
from tflgpu.runtime.plan.records import Plan


def plan_of(**options: object) -> Plan:
    return build(str(DIGITS_MODEL), Options(**{"device": "gpu", **options})).plan  # type: ignore[arg-type]


def test_every_kernel_has_its_reasons() -> None:
    plan = plan_of(
        precision="f16",
        keep_f32=("SOFTMAX",),
        input_shapes=(("image", (1, 8, 8, 1)),),
        outputs=(("probabilities", "softmax"),),
    )
    decisions = decide(str(DIGITS_MODEL), plan)
    assert decisions.note == ""
    for dispatch in plan.dispatches:
        (chosen,) = decisions.chosen[dispatch.operators][:1]
        assert chosen.implementation not in chosen.others
        assert all(reason for _, reason in chosen.unsupported)
    graph = decisions.graph
    covered = {index for dispatch in plan.dispatches for index in dispatch.operators}
    assert covered <= {node["index"] for node in graph.nodes}
    assert graph.edges[0].source == "input0" and graph.edges[0].shape == (1, 8, 8, 1)
    assert [edge.target for edge in graph.edges][-1] == "output0"
    conv = graph.nodes[0]
    assert conv["title"] == "CONV_2D" and "constant" in conv["reads"][1]


def test_operators_on_litert_have_their_reasons() -> None:
    plan = plan_of(fallback_ops=("SOFTMAX",))
    decisions = decide(str(DIGITS_MODEL), plan)
    (part,) = plan.parts
    assert set(part.operators) == set(decisions.fallback)


def test_kernels_that_do_not_fit_have_their_reasons() -> None:
    """What only the finished kernels show, here loops that the driver would end."""
    made = model({"y": call("CUMSUM", x(1, 70_000), number(1, "int32"))})
    plan = build(made.content, Options(target="glsl", device="llvmpipe", fallback="litert")).plan
    decisions = decide(made.content, plan)
    assert "iterations" in decisions.fallback[0].reason
    (chosen,) = decisions.chosen[(0,)]
    assert chosen.implementation == "litert"


def test_a_profile_that_is_not_here_leaves_the_graph() -> None:
    plan = plan_of()
    others = replace(plan, options=plan.options.replace('"device": "gpu"', '"device": "mine"'))
    decisions = decide(str(DIGITS_MODEL), others)
    assert decisions.graph == decide(str(DIGITS_MODEL), plan).graph
    assert "cannot be told" in decisions.note and "device" in decisions.note
    assert decisions.chosen == {}


def test_conversions_that_became_part_of_another_operator() -> None:
    """Integers at the end of a model are stored by the operator that computes them."""
    image = xq(1, 5, 7, 16, dtype="int8", scale=0.1)
    made = model({"y": quantized("RELU", image, dtype="int8", scale=0.1)})
    plan = build(made.content, Options(target="opencl", device="gpu")).plan
    chosen = decide(made.content, plan).chosen
    assert all(dispatch.operators in chosen for dispatch in plan.dispatches)


def test_another_version_is_noted() -> None:
    plan = replace(plan_of(), compiler="0.0.1")
    assert "0.0.1" in decide(str(DIGITS_MODEL), plan).note


def test_a_file_that_is_no_model() -> None:
    with pytest.raises(ModelError):
        decide(b"not a model", plan_of())
