"""Small layers on one vector in one kernel; numbers are compared in test_ops."""

from __future__ import annotations

import pytest
from cases.layers import layer, perceptron, squeezed
from graphs import Value, call, ints, w, x
from rewrites import kernels, operators, reasons, text

RULE = "chain_dense"
RULES = (RULE, "fuse_elementwise")


def test_squeeze_and_excite() -> None:
    value = squeezed(x(1, 7, 5, 19), 19)
    assert operators(value) == "MEAN  CONV_2D  RELU  CONV_2D  LOGISTIC"
    assert operators(value, *RULES) == "tflgpu.dense | LOGISTIC"
    line = text(value, *RULES)
    assert line.endswith(" activations=('RELU',) mean=True | LOGISTIC(%0)")
    assert line.startswith("t5 = tflgpu.dense(x0, ")


def test_a_network_of_layers() -> None:
    value = perceptron(x(1, 37), 37, 5, 16, 3)
    assert operators(value, *RULES) == "tflgpu.dense | HARD_SWISH"
    assert kernels(value) == 1


def test_reshapes_between_go_away() -> None:
    value = squeezed(x(1, 7, 5, 19), 19, keep=False)
    assert operators(value, *RULES) == "tflgpu.dense | LOGISTIC"


def needed() -> list[Value]:
    first = layer(x(1, 1, 1, 19), 7, 19)
    return [first, layer(first, 5, 7)]


def residual() -> Value:
    """The vector between is added to the result."""
    first = layer(x(1, 1, 1, 19), 7, 19)
    return call("ADD", layer(first, 7, 7), first)


def average(height: int, channels: int, *axes: int) -> Value:
    mean = call("MEAN", x(1, height, 16, channels), ints(*axes), keep_dims=True)
    return layer(mean, 3, channels)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (needed(), "others need y:0, too"),
        (residual(), "others need y/CONV_2D0.0, too"),
        (
            layer(call("LEAKY_RELU", layer(x(1, 1, 1, 19), 7, 19), alpha=0.25), 5, 7),
            "between them is more than one elementwise operator of one operand",
        ),
        (
            layer(call("MUL", layer(x(1, 1, 1, 19), 7, 19), x(7)), 5, 7),
            "between them is more than one elementwise operator of one operand",
        ),
        (
            perceptron(x(1, 512), 512, 256, 128),
            "their 163840 weights are worth several work-groups",
        ),
        (average(257, 17, 1, 2), "averaging 69904 values is worth several work-groups"),
        (
            layer(call("MEAN", x(1, 5, 1, 7), ints(1, 3), keep_dims=True), 3, 1),
            "the mean is not over all pixels, or more follows it",
        ),
        (
            layer(call("MEAN", x(2, 3, 5, 7), ints(0, 1, 2), keep_dims=True), 3, 7),
            "the mean is over several pictures",
        ),
    ],
    ids=[
        "needed",
        "residual",
        "an attribute",
        "two operands",
        "large",
        "a large picture",
        "all",
        "batch",
    ],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert reasons(value, RULE, "fuse_elementwise")[-1] == reason


SUM = "add_fully_connected"


def dense(value: Value, outputs: int, inputs: int, bias: bool = True) -> Value:
    return call("FULLY_CONNECTED", value, w(outputs, inputs), w(outputs) if bias else None)


def step(rows: int = 1) -> Value:
    """Of a recurrent network."""
    return call("ADD", dense(x(rows, 37), 19, 37), dense(x(rows, 16), 19, 16, bias=False))


def test_a_sum_of_layers() -> None:
    assert operators(step()) == "FULLY_CONNECTED  FULLY_CONNECTED  ADD"
    assert operators(step(), SUM) == "tflgpu.fully_connected_sum"
    assert text(step(), SUM) == "t5 = tflgpu.fully_connected_sum(x0, w2, w3, x1, w4, none)"
    assert kernels(call("TANH", step())) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (call("ADD", dense(x(1, 37), 19, 37), x(1, 19)), "is no other fully connected layer"),
        (call("ADD", dense(x(5, 37), 19, 37), dense(x(1, 16), 19, 16)), "one of them broadcasts"),
        (step(5), "5 rows are better off in tiles of several"),
        (
            call("ADD", call("FULLY_CONNECTED", x(1, 3), x(5, 3), None), dense(x(1, 3), 5, 3)),
            "weights or a bias are computed while the model runs",
        ),
        (
            call("ADD", dense(x(2, 3), 5, 6), dense(x(1, 6), 5, 6)),
            "an input is not cut into rows",
        ),
    ],
    ids=["a tensor", "broadcasting", "rows", "computed", "uncut"],
)
def test_a_sum_declines(value: Value, reason: str) -> None:
    assert reason in reasons(value, SUM)[0]
