"""A model for several input shapes in a store: all of its plans are published and fetched."""

from pathlib import Path

from graphs import call, model, x
from published_files import fetched

import tflgpu
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.remote.publish import publish
from tflgpu.runtime.remote.store import Store


def test_all_plans_are_published(tmp_path: Path, user: Path) -> None:
    content = model({"y": call("NEG", x(1, 3))}).content
    choices = [{"y/in0": (rows, 3)} for rows in (1, 4)]
    folder = tflgpu.compile(content, tmp_path / "cache", device="cpu", input_shapes=choices)
    store = Store((tmp_path / "store").as_uri())
    publish(folder, store)
    copy = fetched(store.url)
    assert copy.is_relative_to(user)
    plans = [path.relative_to(copy) for path in sorted(copy.rglob("plan.tflgpu"))]
    assert plans == [Path("choices/1/plan.tflgpu"), Path("plan.tflgpu")]
    variant = read_variant(copy)
    (record,) = variant.plan.specializations
    assert variant.specialized(record).plan.inputs[0].shape == (4, 3)
