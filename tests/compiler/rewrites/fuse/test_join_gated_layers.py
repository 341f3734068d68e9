"""Layers of which one's result is what another's epilogue reads; numbers are compared in
tests/compiler/ops."""

import numpy as np
import pytest
from cases.norms import dense, gated, layers, root_mean_square
from graphs import Call, Value, call, w, x
from rewriting import assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.join_gated_layers import join_gated_layers
from tflgpu.compiler.rewrites.fuse.normalize_in_products import normalize_in_products
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization

RULES = (fuse_elementwise, join_gated_layers)
WITH_NORMS = (recognize_normalization, fuse_elementwise, normalize_in_products, join_gated_layers)


def gates(rows: Value, other: Value, *, outputs: int = 43) -> Value:
    """The product of a layer and the gate that another layer, of 37 inputs as well, computes."""
    return call("MUL", call("LOGISTIC", dense(rows, outputs, 37)), dense(other, outputs, 37))


def of_the_same_rows(*shape: int) -> Value:
    rows = x(*shape)
    return gates(rows, rows)


def test_a_layer_and_its_gate_become_one() -> None:
    found = operators(of_the_same_rows(2, 19, 37), *RULES)
    assert found == "FULLY_CONNECTED | LOGISTIC | MUL"


@pytest.mark.parametrize("norm", [layers, root_mean_square])
def test_so_do_those_that_normalize_their_rows(norm: object) -> None:
    found = operators(gated(norm, 2, 19, 37), *WITH_NORMS)  # type: ignore[arg-type]
    assert found == "ADD  tflgpu.normalized_product | LOGISTIC | MUL"


def test_a_bias_that_one_of_them_lacks_is_zero() -> None:
    rows = x(2, 19, 37)
    gate = call("FULLY_CONNECTED", rows, w(43, 37), keep_num_dims=True)
    graph, _ = rewritten(call("MUL", call("TANH", gate), dense(rows, 43, 37)), *RULES)
    (joined,) = graph.ops
    assert joined.operand(1).shape == (86, 37) and len(joined.core[0].outputs) == 2
    none, some = np.split(joined.constant(2), 2)
    assert not none.any() and some.any()


def both_read() -> list[Value]:
    """A gate that is an output, too."""
    rows = x(2, 19, 37)
    gate = call("LOGISTIC", dense(rows, 43, 37))
    return [call("MUL", gate, dense(rows, 43, 37)), call("ABS", call("NEG", gate))]


def test_layers_whose_weights_are_computed_stay_apart() -> None:
    rows = x(2, 19, 37)
    for weights, bias in ((call("TANH", x(43, 37)), w(43)), (w(43, 37), call("TANH", x(43)))):
        gate = call("FULLY_CONNECTED", rows, weights, bias, keep_num_dims=True)
        value = call("MUL", call("LOGISTIC", gate), dense(rows, 43, 37))
        computed = 1 if isinstance(weights, Call) else 2
        reason = f"input {computed} is computed while the model runs"
        assert_declines(value, reason, *RULES)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(gates(x(2, 19, 37), x(2, 19, 37)), id="of other rows"),
        pytest.param(both_read(), id="the gate is read elsewhere"),
    ],
)
def test_layers_that_stay_apart(value: Value) -> None:
    assert operators(value, *RULES).count("FULLY_CONNECTED") == 2


def test_work_items_of_a_gpu_share_the_sums_of_a_row_instead() -> None:
    rows = x(1, 256)
    value = call("MUL", call("TANH", dense(rows, 256, 256)), dense(rows, 256, 256))
    assert_declines(value, "share the sums", *RULES, device="gpu")


def test_work_items_of_a_gpu_do_not_read_rows_for_both_too_often() -> None:
    value = gated(layers, 2, 199, 37)
    assert_declines(value, "reading the rows once more", *WITH_NORMS, device="gpu")
