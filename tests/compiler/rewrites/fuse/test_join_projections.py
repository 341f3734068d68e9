"""Projections that become one layer; numbers are compared in tests/compiler/ops."""

import numpy as np
import pytest
from cases.attention import attention, from_one_projection, in_front, three_projections
from cases.quantized_weights import TABLES_OF_WEIGHTS, projected
from graphs import Value, call, known, w, x
from rewriting import operators, rewritten

from tflgpu.compiler.rewrites.fuse.join_projections import join_projections
from tflgpu.compiler.rewrites.layout.eliminate_common_subexpressions import (
    eliminate_common_subexpressions,
)
from tflgpu.compiler.rewrites.layout.merge_moves import transpose_to_reshape
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.rewrites.recognize.recognize_attention import recognize_attention

RULES = (recognize_attention, join_projections)
ADDED = x(2, 19, 48)
QUANTIZED = (lower_quantized, transpose_to_reshape, eliminate_common_subexpressions)


def test_three_projections_are_one_layer_of_which_each_is_a_slice() -> None:
    found = operators(three_projections(), *RULES)
    assert found == "FULLY_CONNECTED  " + "SLICE  " * 3 + "tflgpu.attention  RESHAPE  RESHAPE"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(three_projections(heads=1, depth=7), id="they are not whole slices"),
        pytest.param(three_projections(inputs=3), id="they are of different rows"),
        pytest.param(
            three_projections(then=lambda layer: call("ADD", layer, ADDED)),
            id="each is added to the same numbers",
        ),
        pytest.param(
            three_projections(then=lambda layer: call("MUL", layer, w(19, 1))),
            id="their rows have different factors",
        ),
    ],
)
def test_projections_that_stay_apart(value: Value) -> None:
    assert operators(value, *RULES).count("FULLY_CONNECTED") == 3


def test_projections_by_computed_weights_stay_apart() -> None:
    rows = x(2, 19, 37)
    weights = [call("TANH", x(48, 37)) for _ in "qkv"]
    layers = [call("FULLY_CONNECTED", rows, each, None, keep_num_dims=True) for each in weights]
    value = attention(*(in_front(layer, 2, 19, 3, 16) for layer in layers))
    assert operators(value, *RULES).count("FULLY_CONNECTED") == 3


@pytest.mark.parametrize("name", TABLES_OF_WEIGHTS)
@pytest.mark.parametrize("cached", [False, True])
def test_projections_by_quantized_weights_are_scaled_together(name: str, cached: bool) -> None:
    value = projected(TABLES_OF_WEIGHTS[name], 1 if cached else 19, cached)
    graph, _ = rewritten(value, *QUANTIZED, *RULES)
    (layer,) = (op for op in graph.ops if "fully_connected" in op.name.lower())
    assert layer.operand(1).shape == (128, 64)
    tables = [each for op in graph.ops if op.name == "tflgpu.multiply_add" for each in op.reads[1:]]
    assert [each.shape for each in tables] == ([] if name == "floats" else [(128,), (128,)])


def test_factors_of_rows_that_are_equal_stay_as_they_are() -> None:
    factors = np.linspace(1, 2, 19, dtype=np.float32)[:, None]
    value = three_projections(then=lambda layer: call("MUL", layer, known(factors)))
    graph, _ = rewritten(value, *RULES)
    (scaled,) = (op for op in graph.ops if op.name == "MUL" and op.output.shape == (2, 19, 144))
    assert np.array_equal(scaled.constant(1), factors)


def test_one_projection_stays_as_it_is() -> None:
    once = from_one_projection(19)
    assert operators(once, *RULES) == operators(once, recognize_attention)
