"""A model compiled for several of its signatures, which share the weights."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached
from graphs.signatures import ROWS, SHAPE, WIDTH, cached, noted, two_signatures

import tflgpu
from tflgpu.compiler import ModelError, OptionError, Options, pipeline
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import InputError, Session
from tflgpu.runtime.plan.records import Plan, Region, Specialization


def given(rows: int, start: int = 0) -> dict[str, Array]:
    random = np.random.default_rng(rows)
    return {
        "x": random.standard_normal((1, rows, WIDTH), np.float32),
        "start": np.array([0, start, 0], np.int32),
        "cache": random.standard_normal((1, ROWS, WIDTH), np.float32),
    }


def expected(signature: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """LiteRT's outputs."""
    reference = Reference(cached(), signature=signature)
    names = [info.name for info in reference.outputs]
    return dict(zip(names, reference.run(arrays), strict=True))


@pytest.fixture
def session(attached: Attached, tmp_path: Path) -> Iterator[Session]:
    device = "gpu" if attached.target == "glsl" else "cpu"
    chosen = ["decode", "prefill"]
    path = tflgpu.compile(
        cached(), tmp_path, target=attached.target, device=device, signature=chosen
    )
    with tflgpu.load(path, device=attached.device) as opened:
        yield opened


def test_each_runs_on_the_same_weights(session: Session) -> None:
    assert session.signatures == ("decode", "prefill")
    assert session.inputs[0].shape == (1, 1, WIDTH)
    for signature, rows in (("prefill", 4), ("decode", 1), ("prefill", 4)):
        arrays = given(rows, start=2)
        results = session.run(arrays, signature=signature)
        for name, value in expected(signature, arrays).items():
            assert difference(results[name], value) is None
    memories = [each.memory.buffers for each in session._model._loaded.values()]
    assert len(memories) == 2
    assert len({str(buffers[Region.WEIGHTS, 0]) for buffers in memories}) == 1


def test_a_session_for_one(session: Session) -> None:
    prefill = session.with_signature("prefill")
    assert prefill.inputs[0].shape == (1, 4, WIDTH)
    assert prefill.signatures == session.signatures
    arrays = given(4)
    scores = np.empty((1, 4, ROWS), np.float32)
    with prefill.bind(arrays, {"scores": scores}) as bound:
        bound.run()
    assert difference(scores, expected("prefill", arrays)["scores"]) is None
    assert len(prefill.profile(arrays)) == len(prefill.plan.dispatches)
    with pytest.raises(InputError, match=r"expected float32 of shape \[1, 1, 6\]"):
        session.run(arrays)
    with pytest.raises(InputError, match="not compiled for signature 'far', but for decode, pre"):
        session.run(arrays, signature="far")


def test_variables_are_those_of_all(attached: Attached, tmp_path: Path) -> None:
    device = "gpu" if attached.target == "glsl" else "cpu"
    path = tflgpu.compile(
        noted(), tmp_path, target=attached.target, device=device, signature=["recall", "note"]
    )
    with tflgpu.load(path, device=attached.device) as session:
        for _ in range(2):
            content = 0
            for signature, number in (("recall", 1), ("note", 20), ("recall", 3), ("note", 50)):
                content = number if signature == "note" else content
                result = session.run(np.full(SHAPE, number, np.float32), signature=signature)["y"]
                np.testing.assert_array_equal(result, content + number)
            session.reset()


@pytest.mark.parametrize("other", [None, 0.5, 2.5])
def test_what_variables_start_with(tmp_path: Path, other: float | None) -> None:
    """It is that of the signature that says so; two must not say different things."""
    content = noted({"recall": 0.5, "note": other})
    if other == 2.5:
        with pytest.raises(OptionError, match="v starts with other values in one signature"):
            tflgpu.compile(content, tmp_path, device="cpu", signature=["note", "recall"])
        return
    path = tflgpu.compile(content, tmp_path, device="cpu", signature=["note", "recall"])
    with tflgpu.load(path) as session:
        assert session.run(np.zeros(SHAPE, np.float32), signature="recall")["y"].max() == 0.5


def test_weights_are_stored_once(tmp_path: Path) -> None:
    one, both = (
        tflgpu.compile(cached(), tmp_path, device="cpu", signature=signature)
        for signature in ("decode", "all")
    )
    # In an order of their own, that of all signatures.
    alone, shared = (np.fromfile(folder / "weights.bin", np.float32) for folder in (one, both))
    assert np.array_equal(np.sort(alone), np.sort(shared))
    assert [path.parent.name for path in both.glob("choices/*/plan.tflgpu")] == ["1"]


def test_shapes_and_formats_of_one_signature() -> None:
    def found(shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> list[tuple[str, list[int]]]:
        options = Options(device="cpu", signature=("near", "far"), input_shapes=shapes)
        first = pipeline.build(two_signatures(), options).plan
        plans: list[Plan | Specialization] = [first, *first.specializations]
        return [(each.signature, [info.shape[0] for info in each.inputs]) for each in plans]

    larger = (2, 5, 7, 3)
    everywhere = tuple((name, larger) for name in ("left", "right"))
    assert found(everywhere) == [("near", [2, 2]), ("far", [2, 2])]
    of_one = tuple((f"far/{name}", (n, 5, 7, 3)) for n in (1, 2) for name in ("left", "right"))
    assert found(of_one) == [("near", [1, 1]), ("far", [1, 1]), ("far", [2, 2])]
    with pytest.raises(ModelError, match="no input near/top; its inputs are left, right"):
        found((("near/top", larger),))


def test_what_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no signature middle; it has far, near"):
        tflgpu.compile(two_signatures(), tmp_path, device="cpu", signature=["near", "middle"])
    with pytest.raises(OptionError, match="give a tuple of different names of signatures"):
        tflgpu.compile(two_signatures(), tmp_path, device="cpu", signature=["near", "near"])
