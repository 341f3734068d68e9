"""Layers that normalize their rows; numbers are compared in tests/compiler/ops."""

from collections.abc import Sequence

import numpy as np
import pytest
from cases.norms import dense, feed_forward, gated, layers, normalized, root_mean_square
from graphs import Value, call, w, x
from rewriting import assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.normalize_in_products import normalize_in_products
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization

RULES = (recognize_normalization, fuse_elementwise, normalize_in_products)


def twice(first: str) -> list[Value]:
    """Normalized rows that an operator and a layer read."""
    rows = normalized(layers, 2, 19, 37)
    other = call(first, rows)
    return [other, call("ADD", dense(rows, 37, 37), other)]


def test_a_layer_normalizes_its_rows() -> None:
    value = call("TANH", dense(normalized(root_mean_square, 2, 19, 37), 43, 37))
    assert operators(value, *RULES) == "ADD  tflgpu.normalized_product | TANH"


def test_two_layers_each_normalize_the_rows() -> None:
    found = operators(gated(layers, 2, 19, 37), *RULES)
    assert found == "ADD  tflgpu.normalized_product | LOGISTIC  tflgpu.normalized_product | MUL"


def test_the_first_layer_stores_rows_that_are_also_added() -> None:
    graph, _ = rewritten(feed_forward(layers, 2, 19, 37), *RULES)
    _, first, second = graph.ops
    assert first.name == "tflgpu.normalized_product" and first.outputs[1] in second.epilogue_inputs
    assert not first.early_outputs and first.results == first.outputs


def test_weights_of_a_layer_norm_are_centered() -> None:
    graph, _ = rewritten(dense(normalized(layers, 2, 19, 37), 43, 37), *RULES)
    weights = graph.ops[-1].constant(1)
    assert np.abs(weights.mean(1)).max() < 1e-7 and np.abs(weights).max() > 1e-2


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(
            dense(call("TANH", normalized(layers, 2, 19, 37)), 43, 37),
            "not a gain and an offset",
            id="something else follows the norm",
        ),
        pytest.param(twice("EXP"), "read before the first layer", id="the layer needs a reader"),
        pytest.param(
            call("FULLY_CONNECTED", normalized(layers, 2, 19, 37), x(43, 37), keep_num_dims=True),
            "computed while the model runs",
            id="weights are computed",
        ),
        pytest.param(
            dense(layers(x(2, 19, 37), (1,), w(37), w(37)), 43, 37),
            "not over rows",
            id="columns are normalized",
        ),
        pytest.param(
            [dense(rows, 43, 37) for rows in [normalized(layers, 2, 19, 37)] for _ in range(4)],
            "4 layers",
            id="of many layers",
        ),
    ],
)
def test_rows_that_a_kernel_of_its_own_normalizes(
    value: Value | Sequence[Value], reason: str
) -> None:
    assert_declines(value, reason, *RULES)


def test_work_items_of_a_gpu_share_the_sums_of_a_row_instead() -> None:
    value = dense(normalized(layers, 1, 1, 256), 256, 256)
    assert_declines(value, "share the sums", *RULES, device="gpu")


def test_work_items_of_a_gpu_do_not_read_long_rows_again() -> None:
    value = dense(normalized(layers, 1, 197, 192), 576, 192)
    assert_declines(value, "takes longer than another kernel", *RULES, device="gpu")
