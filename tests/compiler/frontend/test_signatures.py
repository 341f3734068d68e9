"""Models with several signatures: one is chosen, and gives inputs and outputs their names."""

from copy import copy
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from commands import as_json, invoke
from devices import Way
from graphs.signatures import SHAPE, two_signatures
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.litert.reference import Reference


@pytest.mark.parametrize("signature", ["far", "near"])
@pytest.mark.parametrize("forced", [(), (1,)], ids=["device", "fallback"])
def test_each_signature_runs(signature: str, forced: Any, way: Way, tmp_path: Path) -> None:
    content = two_signatures()
    chosen = Options(
        target=way.target, device=way.profile, signature=(signature,), fallback_ops=forced
    )
    random = np.random.default_rng(3)
    arrays = {name: random.standard_normal(SHAPE).astype(np.float32) for name in ("left", "right")}
    reference = Reference(content, signature=signature)
    names = [info.name for info in reference.outputs]
    expected = dict(zip(names, reference.run(arrays), strict=True))
    folder = pipeline.write(pipeline.build(content, chosen), tmp_path)
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
        two_signatures(), Options(device="cpu", signature=("near",), input_shapes=shapes)
    ).plan
    assert plan.outputs[0].shape == (2, 5, 7, 3)
    with pytest.raises(ModelError, match="no input l; its inputs are left, right"):
        wrong = (("l", (2, 5, 7, 3)),)
        options = Options(device="cpu", signature=("near",), input_shapes=wrong)
        pipeline.build(two_signatures(), options)


def test_one_that_does_not_exist() -> None:
    with pytest.raises(
        ModelError, match="it has no signature middle; its signatures are far, near"
    ):
        pipeline.build(two_signatures(), Options(device="cpu", signature=("middle",)))
    with pytest.raises(ModelError, match=r"it has no signature middle; it has far, near$"):
        pipeline.build(two_signatures(), Options(device="cpu", signature=("far", "middle")))
    with pytest.raises(ModelError, match=r"it has no signatures; leave out the option for them$"):
        pipeline.build(DIGITS_MODEL, Options(device="cpu", signature=("all",)))


def test_commands_take_one(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(two_signatures())
    outputs = as_json("verify", model, "--signature", "near")["outputs"]
    assert {output["name"] for output in outputs} == {"near", "difference"}
    assert (
        "its signatures are far, near"
        in invoke("verify", model, "--signature", "middle", code=1).stderr
    )


def test_one_that_names_a_tensor_twice_or_an_inner_one(tmp_path: Path) -> None:
    """LiteRT gives a signature's outputs, whatever the subgraph lists."""
    found = schema.ModelT.InitFromPackedBuf(two_signatures(), 0)
    far = found.subgraphs[0]
    far.outputs = far.outputs[1:]
    (given,) = (each for each in found.signatureDefs[0].outputs if each.name == b"far")
    again = copy(given)
    again.name = b"again"
    found.signatureDefs[0].outputs.append(again)
    builder = flatbuffers.Builder(1024)
    builder.Finish(found.Pack(builder), b"TFL3")
    content = bytes(builder.Output())
    arrays = {"left": np.full(SHAPE, 2, np.float32), "right": np.full(SHAPE, 5, np.float32)}
    names = [info.name for info in Reference(content, signature="far").outputs]
    folder = tflgpu.compile(content, tmp_path, device="cpu", signature="far")
    with tflgpu.load(folder) as session:
        results = session.run(arrays)
    assert {name: {*array.flat} for name, array in results.items()} == {
        "far": {3},
        "again": {3},
        "difference": {-3},
    }
    assert results.keys() == {*names}
