"""Transposes before fully connected layers."""

from pathlib import Path

import numpy as np
import pytest
from graphs import Value, call, reshape, transpose, w, x
from graphs.channels_first import FIRST
from rewriting import assert_agrees, assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.layout.fold_transposes import fold_transpose_into_weights


def flattened(weights: Value | None = None) -> Value:
    """A feature map with channels first, flattened for a layer."""
    flat = reshape(transpose(x(2, 3, 5, 7), *FIRST), 2, 105)
    return call("FULLY_CONNECTED", flat, weights or w(11, 105), w(11))


def test_the_columns_of_the_weights_are_permuted() -> None:
    value = flattened()
    before, _ = rewritten(value)
    graph, _ = rewritten(value, fold_transpose_into_weights)
    assert operators(value, fold_transpose_into_weights) == "RESHAPE  FULLY_CONNECTED"
    old, new = (each.ops[-1].constant(1) for each in (before, graph))
    image = np.arange(105).reshape(3, 5, 7)
    np.testing.assert_array_equal(new, old[:, np.argsort(image.transpose(2, 0, 1).reshape(-1))])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            call("FULLY_CONNECTED", reshape(transpose(x(3, 5, 7), 0, 2, 1), 21, 5), w(11, 5), None),
            "the transposed axes are not exactly one row of the input",
        ),
        (flattened(x(11, 105)), "the weights are computed while the model runs"),
    ],
    ids=["rows", "computed"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_transpose_into_weights)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, flattened())
