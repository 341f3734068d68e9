"""Outputs that stay on the device as the inputs that they update, across signatures."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached
from graphs import call, model, x
from graphs.signatures import ROWS, WIDTH, cached

import tflgpu
from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.plan.records import Region

KEEP = {"cache*": "cache*"}


def step(rows: int, start: int) -> dict[str, Array]:
    values = np.random.default_rng(start).standard_normal((1, rows, WIDTH), np.float32)
    return {"x": values, "start": np.array([0, start, 0], np.int32)}


class LiteRT:
    """LiteRT with a cache that is handed from run to run."""

    def __init__(self) -> None:
        self.cache: Array = np.zeros((1, ROWS, WIDTH), np.float32)

    def run(self, arrays: Mapping[str, Array], signature: str) -> Array:
        reference = Reference(cached(), signature=signature)
        names = [info.name for info in reference.outputs]
        values = reference.run({**arrays, "cache": self.cache})
        found = dict(zip(names, values, strict=True))
        self.cache = found["cache"]
        scores: Array = found["scores"]
        return scores


def test_a_cache_goes_on_from_signature_to_signature(attached: Attached, tmp_path: Path) -> None:
    device = "gpu" if attached.target == "glsl" else "cpu"
    path = tflgpu.compile(
        cached(), tmp_path, target=attached.target, device=device, keep=KEEP, signature="all"
    )
    with tflgpu.load(path, device=attached.device) as session:
        for _ in range(2):
            expected = LiteRT()
            # `decode` is loaded, and its kernels tried, when the cache has content already.
            for signature, rows, start in (("prefill", 4, 1), ("decode", 1, 5), ("decode", 1, 2)):
                arrays = step(rows, start)
                result = session.run(arrays, signature=signature)
                assert list(result) == ["scores"]
                assert difference(result["scores"], expected.run(arrays, signature)) is None
                assert difference(session.read("cache"), expected.cache) is None
            session.reset()
        one, other = (each.memory.buffers for each in session._model._loaded.values())
        assert one[Region.STATE, 0] == other[Region.STATE, 0]


def test_only_what_changes_is_written() -> None:
    options = Options(device="cpu", signature=("decode",), keep=(("cache", "cache"),))
    plan = pipeline.build(cached(), options).plan
    assert [info.name for info in (*plan.inputs, *plan.outputs)] == ["x", "start", "scores"]
    (update,) = (dispatch for dispatch in plan.dispatches if "tflgpu.update" in dispatch.label)
    assert np.prod(update.grid) == WIDTH
    assert [item.region for item in update.arguments if item.writes] == [Region.STATE]


def test_choices_of_shapes_share_it(tmp_path: Path, opencl_device: str) -> None:
    shapes = [{"prefill/x": (1, 4, WIDTH)}]
    path = tflgpu.compile(
        cached(), tmp_path, device="cpu", signature="all", keep=KEEP, input_shapes=shapes
    )
    with tflgpu.load(path, device=opencl_device) as session:
        expected = LiteRT()
        for signature, rows, start in (("prefill", 4, 0), ("decode", 1, 4)):
            arrays = step(rows, start)
            result = session.run(arrays, signature=signature)
            assert difference(result["scores"], expected.run(arrays, signature)) is None


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ({"caches": "cache"}, "the outputs are cache, scores, the inputs x, start, cache"),
        ({"scores": "x"}, r"scores, float32 of shape \[1, 4, 8\], cannot be kept as the input x"),
        ({"cache": "x", "scores": "x"}, "the input x is updated by several outputs"),
        ({"*": "cache"}, "with at most one `\\*` in both"),
    ],
)
def test_what_cannot_be_kept(keep: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        tflgpu.compile(cached(), tmp_path, device="cpu", signature="all", keep=keep)


def test_nothing_is_kept_on_litert(tmp_path: Path) -> None:
    content = model({"y": call("NEG", call("EXP", x(2, 3)))}).content
    with pytest.raises(OptionError, match="y/in0 is used by operators that run on LiteRT"):
        tflgpu.compile(
            content, tmp_path, device="cpu", keep={"y": "y/in0"}, fallback_ops=["EXP", "NEG"]
        )
