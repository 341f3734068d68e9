"""Projections that become one layer; numbers are compared in tests/compiler/ops."""

from __future__ import annotations

import pytest
from cases.attention import from_one_projection, three_projections
from graphs import Value
from rewriting import operators

from tflgpu.compiler.rewrites.fuse.join_projections import join_projections
from tflgpu.compiler.rewrites.recognize.recognize_attention import recognize_attention

RULES = (recognize_attention, join_projections)


def test_three_projections_are_one_layer_of_which_each_is_a_slice() -> None:
    found = operators(three_projections(), *RULES)
    assert found == "FULLY_CONNECTED  " + "SLICE  " * 3 + "tflgpu.attention  RESHAPE  RESHAPE"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(three_projections(heads=1, depth=7), id="they are not whole slices"),
        pytest.param(three_projections(inputs=3), id="they are of different rows"),
    ],
)
def test_projections_that_stay_apart(value: Value) -> None:
    assert operators(value, *RULES).count("FULLY_CONNECTED") == 3


def test_one_projection_stays_as_it_is() -> None:
    once = from_one_projection(19)
    assert operators(once, *RULES) == operators(once, recognize_attention)
