"""Sums of two fully connected layers."""

from pathlib import Path

import pytest
from graphs import Value, call, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels

from tflgpu.compiler.rewrites.fold.add_fully_connected import add_fully_connected

# A step of a recurrent network.
STEP = """
    input x float32[1,37]
    input h float32[1,16]
    constant v float32[19,37]
    constant b float32[19]
    constant w float32[19,16]
    p = FULLY_CONNECTED(x, v, b)
    q = FULLY_CONNECTED(h, w, none)
    y = ADD(p, q)
    output y
"""


def layer(value: Value, outputs: int, inputs: int) -> Value:
    return call("FULLY_CONNECTED", value, w(outputs, inputs), w(outputs))


def step(rows: int) -> Value:
    return call("ADD", layer(x(rows, 37), 19, 37), layer(x(rows, 16), 19, 16))


def test_a_sum_of_layers_is_one_kernel() -> None:
    expected = "y = tflgpu.fully_connected_sum(x, v, b, h, w, none)"
    assert_becomes(STEP, expected, add_fully_connected)
    assert kernels(call("TANH", step(1))) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            call("ADD", layer(x(1, 37), 19, 37), x(1, 19)),
            "the other summand is not another fully connected layer",
        ),
        (call("ADD", layer(x(5, 37), 19, 37), layer(x(1, 16), 19, 16)), "one summand broadcasts"),
        (step(5), "5 rows are faster in kernels that compute tiles of rows"),
        (
            call("ADD", call("FULLY_CONNECTED", x(1, 3), x(5, 3), None), layer(x(1, 3), 5, 3)),
            "input 1 is computed while the model runs",
        ),
        (
            call("ADD", layer(x(2, 3), 5, 6), layer(x(1, 6), 5, 6)),
            "an input is not split into rows of the weights' width",
        ),
    ],
    ids=["a tensor", "broadcasting", "rows", "computed", "not split"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", add_fully_connected)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, STEP, off=[add_fully_connected])
    assert_agrees(tmp_path, step(4), step(5), off=[add_fully_connected])
