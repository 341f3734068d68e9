"""Scales and offsets after convolutions."""

from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import conv, depthwise, window
from graphs import Value, call, ints, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators, rewritten

from tflgpu.compiler.ir import Shape
from tflgpu.compiler.rewrites.fold.fold_scales import fold_scale_before_conv, fold_scale_into_conv

FUNCTIONS = {"MUL": np.multiply, "DIV": np.divide, "ADD": np.add, "SUB": np.subtract}


@pytest.mark.parametrize(
    ("operator", "first", "weights"),
    [
        ("MUL", False, "w/scaled"),
        ("MUL", True, "w/scaled"),
        ("DIV", False, "w/scaled"),
        ("ADD", True, "w"),
        ("SUB", False, "w"),
    ],
)
@pytest.mark.parametrize("shape", [(11,), (1, 1, 1, 11), (1,), ()])
def test_weights_and_bias_take_in_a_constant(
    operator: str, first: bool, weights: str, shape: Shape
) -> None:
    source = f"""
        input x float32[1,5,7,3]
        constant w float32[11,1,1,3]
        constant b float32[11]
        constant s float32[{",".join(map(str, shape))}]
        t = CONV_2D(x, w, b) padding=VALID stride_h=1 stride_w=1
        y = {operator}({"s, t" if first else "t, s"})
        output y
    """
    before, _ = rewritten(source)
    expected = f"y = CONV_2D(x, {weights}, y/bias) padding=VALID stride_h=1 stride_w=1"
    (op,) = assert_becomes(source, expected, fold_scale_into_conv).ops
    convolution, step = before.ops
    s = np.broadcast_to(step.constant(0 if first else 1).reshape(-1), 11)
    function = FUNCTIONS[operator]
    np.testing.assert_allclose(op.constant(2), function(convolution.constant(2), s), rtol=1e-6)
    factor = function(1, s) if operator in ("MUL", "DIV") else np.ones(11, np.float32)
    scaled = convolution.constant(1) * factor.reshape(-1, 1, 1, 1)
    np.testing.assert_allclose(op.constant(1), scaled, rtol=1e-6)


def test_batch_normalization_costs_no_kernel() -> None:
    value = call("ADD", call("MUL", conv(x(1, 7, 5, 3), (19, 3)), w(19)), w(19))
    assert operators(value) == "CONV_2D  MUL  ADD"
    assert operators(value, fold_scale_into_conv) == "CONV_2D"
    assert kernels(call("RELU", value)) == 1


def enlarged() -> Value:
    """A transposed convolution between constants."""
    image = call("MUL", x(2, 7, 5, 3), w(3))
    weights = w(19, 3, 3, 3), image, w(19)
    attrs = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    value = call("TRANSPOSE_CONV", ints(2, 14, 10, 19), *weights, **attrs)
    return call("SUB", call("DIV", value, w(19, draw="positive")), w())


def test_transposed_convolutions_take_in_constants() -> None:
    passes = (fold_scale_before_conv, fold_scale_into_conv)
    assert operators(enlarged(), *passes) == "TRANSPOSE_CONV"


CONV = conv(x(1, 5, 7, 3), (11, 3), (1, 1), **window("VALID"))
COMPUTED = call("CONV_2D", x(1, 5, 7, 3), call("TANH", x(11, 1, 1, 3)), w(11), **window("VALID"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (call("SUB", w(11), CONV), "the result is the subtrahend or divisor"),
        (call("DIV", w(11), CONV), "the result is the subtrahend or divisor"),
        (call("MUL", CONV, w(7, 1)), "the constant is neither a scalar nor one value per channel"),
        (
            call("ADD", CONV, w(3, 1, 1, 11)),
            "the constant is neither a scalar nor one value per channel",
        ),
        (call("MUL", CONV, x(11)), "the other operand is computed while the model runs"),
        (
            call("MUL", conv(x(1, 3, 11, 3), (11, 3), (1, 1)), w(11, 1)),
            "the constant does not lie along the channels",
        ),
        (call("ADD", COMPUTED, w(11)), "weights or bias are computed while the model runs"),
    ],
    ids=["subtrahend", "divisor", "pixels", "batch", "computed", "columns", "computed weights"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_scale_into_conv)


def test_numbers_agree(tmp_path: Path) -> None:
    values = [
        call("ADD", call("MUL", conv(x(1, 7, 5, 3), (19, 3)), w(19)), w(19)),
        call("SUB", call("DIV", depthwise(x(1, 7, 5, 17)), w(17, draw="positive")), w()),
        enlarged(),
    ]
    assert_agrees(tmp_path, *values, off=[fold_scale_into_conv])
