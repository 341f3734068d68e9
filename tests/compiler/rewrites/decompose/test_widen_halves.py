"""Layers of float16, which are computed with float32.

LiteRT alone has no kernels for them, only XNNPACK for some. The same layers of float32 say what is
right.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from agreement import difference, run
from devices import opencl_devices, unavailable
from graphs import Value, ints, known, model, typed, xi
from rewriting import PROFILES, operators

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.rewrites.decompose.widen_halves import widen_halves

ROUNDED = 2e-3  # How far results may be from those of float32, as inputs and results have 11 bits.


def given(dtype: str, *shape: int) -> Value:
    return xi(*shape, draw="normal", dtype=dtype)


def weights(dtype: str, *shape: int) -> Value:
    values = np.random.default_rng(5).standard_normal(shape) / shape[-1] ** 0.5
    return known(values.astype(dtype))


def fully_connected(dtype: str, rows: int) -> Value:
    return typed(dtype, "FULLY_CONNECTED", given(dtype, rows, 19), weights(dtype, 37, 19))


def layers(dtype: str) -> Value:
    """With operators in between that take float16 as it is."""
    gated = typed(dtype, "MUL", typed(dtype, "TANH", fully_connected(dtype, 3)), given(dtype, 37))
    return typed(dtype, "SOFTMAX", gated, beta=1.0)


def product(dtype: str) -> Value:
    turned = typed(dtype, "TRANSPOSE", given(dtype, 1, 6, 7), ints(0, 2, 1))
    return typed(dtype, "BATCH_MATMUL", given(dtype, 2, 5, 7), turned)


def updated(dtype: str) -> Value:
    """What is written is rounded; the rest stays as it is."""
    rows = fully_connected(dtype, 2)
    return typed(dtype, "DYNAMIC_UPDATE_SLICE", given(dtype, 7, 37), rows, ints(3, 0))


def test_what_reads_a_layer_is_computed_with_it() -> None:
    expected = "CAST  FULLY_CONNECTED  TANH  CAST  MUL  SOFTMAX  CAST"
    assert sorted(operators(layers("float16"), widen_halves).split()) == sorted(expected.split())
    assert "CAST" not in operators(layers("float32"), widen_halves)


def test_others_stay() -> None:
    plain = typed("float16", "ADD", given("float16", 3, 5), given("float16", 3, 5))
    assert operators(plain, widen_halves) == "ADD"
    found = operators(updated("float16"), widen_halves)
    assert found == "CAST  FULLY_CONNECTED  CAST  DYNAMIC_UPDATE_SLICE"


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("value", [layers, product, updated])
def test_numbers_agree(name: str, value: Callable[[str], Value], tmp_path: Path) -> None:
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    halves, floats = (model({"y": value(dtype)}) for dtype in ("float16", "float32"))
    inputs = {key: array.astype(np.float32) for key, array in halves.inputs.items()}
    [expected] = Reference(floats.content).run(inputs)
    built = pipeline.build(halves.content, Options(device=name, fallback="none"))
    [actual] = run(built, opencl_devices()[0], tmp_path, halves.inputs).values()
    assert actual.dtype == np.float16
    assert difference(actual.astype(np.float32), expected, ROUNDED) is None
