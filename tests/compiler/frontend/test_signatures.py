"""Models with several signatures: one is chosen, and gives inputs and outputs their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from commands import as_json, invoke
from devices import Way

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.litert.reference import Reference

SHAPE = (1, 5, 7, 3)


def subgraph(operator: str) -> Graph:
    """difference = left - right, and `operator` of it."""
    graph = Graph(operator)
    left, right, middle, result = (Tensor(name, SHAPE) for name in ("l", "r", "m", "y"))
    graph.add(Op("SUB", (left, right), (middle,), {}, 0))
    graph.add(Op(operator, (middle,), (result,), {}, 1))
    graph.inputs, graph.input_names = [left, right], ["l", "r"]
    graph.outputs, graph.output_names = [middle, result], ["m", "y"]
    return graph


def entries(names: dict[str, int]) -> list[Any]:
    found = []
    for name, index in names.items():
        entry = schema.TensorMapT()
        entry.name, entry.tensorIndex = name.encode(), index
        found.append(entry)
    return found


def two_signatures() -> bytes:
    """`far` is |left - right|, `near` is exp of it; both also give the difference."""
    whole = subgraph("ABS")
    whole.subgraphs = {1: subgraph("EXP")}
    model = schema.ModelT.InitFromPackedBuf(write(whole), 0)
    model.signatureDefs = []
    for number, key in enumerate(("far", "near")):
        table = model.subgraphs[number]
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = key.encode(), number
        signature.inputs = entries({"right": table.inputs[1], "left": table.inputs[0]})
        signature.outputs = entries({key: table.outputs[1], "difference": table.outputs[0]})
        model.signatureDefs.append(signature)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("signature", ["far", "near"])
@pytest.mark.parametrize("forced", [(), (1,)], ids=["device", "fallback"])
def test_each_signature_runs(signature: str, forced: Any, way: Way, tmp_path: Path) -> None:
    content = two_signatures()
    chosen = Options(
        target=way.target, device=way.profile, signature=signature, fallback_ops=forced
    )
    random = np.random.default_rng(3)
    arrays = {name: random.standard_normal(SHAPE).astype(np.float32) for name in ("left", "right")}
    reference = Reference(content, signature=signature)
    names = [info.name for info in reference.outputs]
    expected = dict(zip(names, reference.run(arrays), strict=True))
    folder = pipeline.store(pipeline.build(content, chosen), tmp_path)
    with tflgpu.load(folder, device=way.device) as session:
        assert [info.name for info in session.inputs] == ["left", "right"]
        results = session.run(arrays)
    assert results.keys() == expected.keys() == {signature, "difference"}
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-6)


def test_each_signature_is_a_variant_of_its_own(tmp_path: Path) -> None:
    folders = {
        tflgpu.compile(two_signatures(), tmp_path, device="cpu", signature=signature)
        for signature in ("", "far", "near")
    }
    assert len(folders) == 3


def test_without_one_tensors_keep_their_names() -> None:
    plan = pipeline.build(two_signatures(), Options(device="cpu")).plan
    assert [info.name for info in (*plan.inputs, *plan.outputs)] == ["l", "r", "m", "y"]


def test_shapes_go_by_the_names_of_the_signature() -> None:
    shapes = tuple((name, (2, 5, 7, 3)) for name in ("left", "right"))
    plan = pipeline.build(
        two_signatures(), Options(device="cpu", signature="near", input_shapes=shapes)
    ).plan
    assert plan.outputs[0].shape == (2, 5, 7, 3)
    with pytest.raises(ModelError, match="no input l; its inputs are left, right"):
        wrong = (("l", (2, 5, 7, 3)),)
        options = Options(device="cpu", signature="near", input_shapes=wrong)
        pipeline.build(two_signatures(), options)


def test_one_that_does_not_exist() -> None:
    with pytest.raises(
        ModelError, match="it has no signature middle; its signatures are far, near"
    ):
        pipeline.build(two_signatures(), Options(device="cpu", signature="middle"))


def test_commands_take_one(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(two_signatures())
    outputs = as_json("verify", model, "--signature", "near")["outputs"]
    assert {output["name"] for output in outputs} == {"near", "difference"}
    assert (
        "its signatures are far, near"
        in invoke("verify", model, "--signature", "middle", code=1).stderr
    )
