"""Persistent kernels: what becomes one launch."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference
from devices import own_profile
from graphs import State, Value, call, ints, known, model, quantized, w, x, xq
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.errors import FallbackWarning
from tflgpu.compiler.litert.reference import Reference

pytestmark = pytest.mark.usefixtures("free_exchange")


def chain(*operators: str) -> bytes:
    """A model of operators in a row, none of which a rewrite takes into another."""
    value: Value = x(1, 5, 7, 11)
    for operator in operators:
        value = call(operator, value, **({"beta": 1.0} if operator == "SOFTMAX" else {}))
    return model({"y": value}).content


def stretches(content: bytes, **options: Any) -> list[tuple[int, int]]:
    plan = pipeline.build(content, Options(**options)).plan
    return [(record.first, record.count) for record in plan.persistent]


@pytest.mark.parametrize(
    ("operators", "most", "merged"),
    [
        (["SOFTMAX"] * 6, 64, [(0, 6)]),
        (["SOFTMAX"], 64, []),
        (["SOFTMAX"] * 6, 0, []),
        (["TANH", "SOFTMAX", "LOGISTIC", "L2_NORMALIZATION"], 2, [(0, 2), (2, 2)]),
    ],
)
def test_where_a_stretch_is_divided(
    tmp_path: Path, operators: list[str], most: int, merged: list[tuple[int, int]]
) -> None:
    profile = own_profile(tmp_path, "cpu", persistent_kernels=most)
    assert stretches(chain(*operators), device=profile) == merged


@pytest.mark.parametrize(
    ("place", "merged"),
    [(0, [(0, 4)]), (1, [(1, 3)]), (2, [(0, 2), (2, 2)]), (3, [(0, 3)]), (4, [(0, 4)])],
)
def test_launches_end_at_parts_on_litert(
    tmp_path: Path, opencl_device: str, place: int, merged: list[tuple[int, int]]
) -> None:
    operators = ["SOFTMAX"] * 4
    operators.insert(place, "L2_NORMALIZATION")
    content = chain(*operators)
    options: dict[str, Any] = {"fallback": "litert", "fallback_ops": ("L2_NORMALIZATION",)}
    assert stretches(content, device="cpu", **options) == merged
    array = np.random.default_rng(7).standard_normal((1, 5, 7, 11), np.float32)
    with pytest.warns(FallbackWarning):
        folder = tflgpu.compile(content, tmp_path, device="cpu", **options)
    with tflgpu.load(folder, device=opencl_device) as session:
        first = session.run(array)["y"]
        (expected,) = Reference(content).run([array])
        assert difference(first, expected) is None
        np.testing.assert_array_equal(session.run(array)["y"], first)


def test_kernels_whose_work_items_exchange_data(tmp_path: Path) -> None:
    """On a GPU's profile a group of several work-items adds up a long row; it keeps its launch."""
    profile = own_profile(tmp_path, "gpu", persistent_kernels=64)
    value: Value = x(5, 4099)
    for operator in ("GATHER", "GATHER", "SOFTMAX", "GATHER", "GATHER", "GATHER"):
        if operator == "GATHER":
            value = call("GATHER", value, ints(2, 1, 0, 3, 4), axis=0, batch_dims=0)
        else:
            value = call("SOFTMAX", value, beta=1.0)
    content = model({"y": value}).content
    plan = pipeline.build(content, Options(device=profile)).plan
    assert "group" in plan.kernels[plan.dispatches[2].kernel].name
    assert stretches(content, device=profile) == [(0, 2), (3, 3)]


def test_only_in_opencl(tmp_path: Path) -> None:
    profile = own_profile(tmp_path, "gpu", persistent_kernels=64)
    content = chain("SOFTMAX", "SOFTMAX")
    assert stretches(content, device=profile) == [(0, 2)]
    assert stretches(content, device=profile, target="glsl") == []


def test_only_kernels_that_ask_for_it_round_every_product() -> None:
    """A pragma holds to the end of its block; all kernels of a plan are one program."""
    mean = quantized("MEAN", xq(1, 5, 7, 11, dtype="int8"), ints(1, 2), dtype="int8")
    content = model({"a": mean, "b": call("SOFTMAX", x(3, 5), beta=1.0)}).content
    sources = pipeline.build(content, Options(device="cpu_avx2", fallback="none")).sources
    told = [text for text in sources.values() if "#pragma OPENCL FP_CONTRACT OFF" in text]
    assert len(told) == 2 < len(sources)
    for text in told:
        assert re.search(r"\) \{\n  #pragma OPENCL FP_CONTRACT OFF\n", text)
        assert text.count("FP_CONTRACT") == 1


def test_more_regions_than_a_kernel_takes(tmp_path: Path) -> None:
    """A network has arena, weights, input and output; the counters are one more."""
    content = DIGITS_MODEL.read_bytes()
    enough = own_profile(tmp_path, "cpu_avx512", max_arguments=5)
    assert stretches(content, device=enough) == [(0, 6)]
    assert stretches(content, device=own_profile(tmp_path, "cpu_avx512", max_arguments=4)) == []


def test_the_same_text_each_time() -> None:
    texts = {
        pipeline.build(DIGITS_MODEL, Options(device="cpu_avx512")).sources[
            "kernels/006_persistent.cl"
        ]
        for _ in range(3)
    }
    (text,) = texts
    assert re.search(r"case 1:\s+each_item\(.*_001_item\(item,\s+part\(arena, 0, const ", text)
    assert text.count("__kernel") == 1
    # A group of light work-items is called as a whole.
    assert "separate void persistent_006_max_pool_002_group(" in text
    call = "max_pool_002_item(\n        group_gx * 4 + i0, group_gy * 4 + i1, x, y);"
    assert call in text


def test_the_steps_of_a_recurrent_layer_are_written_once(
    tmp_path: Path, opencl_device: str
) -> None:
    steps, inputs, units = 97, 5, 8
    # Weights that let differences die away.
    recurrent = known(np.eye(units, dtype=np.float32)[::-1] * 0.5)
    weights = w(units, inputs), recurrent, w(units)
    attrs = {"time_major": True, "fused_activation_function": "TANH"}
    state = State((1, units))
    layer = call("UNIDIRECTIONAL_SEQUENCE_RNN", x(steps, 1, inputs), *weights, state, **attrs)
    made = model({"y": call("FULLY_CONNECTED", layer, w(3, units), None, keep_num_dims=True)})
    compiled = pipeline.build(made.content, Options(device="cpu_avx2", fallback="none"))
    (record,) = compiled.plan.persistent
    text = compiled.sources[compiled.plan.kernels[record.kernel].file]
    assert record.count == text.count("// dispatch ") > steps > 20 > text.count("each_item(")
    array = np.random.default_rng(7).standard_normal((steps, 1, inputs), np.float32)
    with tflgpu.load(pipeline.write(compiled, tmp_path), device=opencl_device) as session:
        results = [session.run(array)["y"] for _ in range(2)]
    reference = Reference(made.content)
    for result in results:
        (expected,) = reference.run([array])
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
