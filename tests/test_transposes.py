"""Transposes that cancel around other operators, or go into constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from agreement import problems
from case import Case
from conftest import Way
from expressions import Value, call, ints, known, w, x
from rewrites import compiled, operators, reasons, text

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of axes: channels first from channels last, and back."""

MIRROR = (0, 2, 1, 3)
"""An order that undoes itself."""


def turn(value: Value, order: tuple[int, ...]) -> Value:
    return call("TRANSPOSE", value, ints(*order))


def conv(image: Value, outputs: int, inputs: int) -> Value:
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    return call("CONV_2D", image, w(outputs, 3, 3, inputs), w(outputs), **window)


def convolution(image: Value, outputs: int, inputs: int) -> Value:
    """One of a picture with channels first."""
    return turn(conv(turn(image, LAST), outputs, inputs), FIRST)


def pad(image: Value) -> Value:
    table = known(np.array([[0, 0], [0, 2], [1, 0], [0, 3]], np.int32))
    return call("PAD", image, table)


def network() -> Value:
    """Residual, with an affine step, a concatenation, a mean and padding between convolutions."""
    image = turn(x(2, 5, 7, 3), FIRST)
    first = call("RELU", call("MUL", convolution(image, 5, 3), w(5, 1, 1)))
    second = call("ADD", convolution(first, 5, 5), first)
    gate = call("LOGISTIC", call("MEAN", second, ints(2, 3), keep_dims=True))
    both = call("CONCATENATION", call("MUL", second, gate), first, axis=1)
    return turn(convolution(pad(both), 3, 12), LAST)


def flattened() -> Value:
    """A picture with channels first, flattened for a layer."""
    flat = call("RESHAPE", turn(x(2, 3, 5, 7), FIRST), ints(2, 105), new_shape=(2, 105))
    return call("FULLY_CONNECTED", flat, w(11, 105), w(11))


def averaged(keep: bool, *axes: int) -> Value:
    return call("MEAN", turn(x(2, 3, 5, 7), FIRST), ints(*axes), keep_dims=keep)


def test_a_network_with_channels_first_keeps_no_transpose() -> None:
    expected = "CONV_2D  MUL  RELU  CONV_2D  ADD  MEAN  LOGISTIC  MUL  CONCATENATION  PAD  CONV_2D"
    assert operators(network()).count("TRANSPOSE") == 8
    assert operators(network(), "move_transposes", "merge_transposes", "drop_identity") == expected
    assert "TRANSPOSE" not in " ".join(d.label for d in compiled(network()).plan.dispatches)


def mirrored() -> Value:
    """With a transpose that starts and ends at operators around it."""
    first = call("RELU", turn(x(2, 5, 5, 3), MIRROR))
    return turn(call("ADD", first, call("TANH", turn(first, MIRROR))), MIRROR)


def test_the_text_of_a_pair() -> None:
    pair = call("SUB", turn(x(2, 3, 5, 7), FIRST), turn(x(2, 3, 5, 7), FIRST))
    assert text(turn(call("TANH", pair), LAST), "move_transposes").splitlines() == [
        "t2 = SUB(x0, x1)",
        "t3 = TANH(t2)",
    ]


def test_a_transpose_inside_stays() -> None:
    assert operators(mirrored(), "move_transposes") == "RELU  TRANSPOSE  TANH  ADD"


def test_a_transpose_stays_where_only_its_place_would_change() -> None:
    value = turn(x(2, 3, 5, 7), FIRST)
    assert reasons(call("TANH", value), "move_transposes") == [
        "210 values instead of 210 would be transposed"
    ]
    other = call("ADD", value, x(2, 7, 3, 5))
    assert reasons(other, "move_transposes") == ["420 values instead of 210 would be transposed"]


def test_a_mean_reads_what_was_transposed() -> None:
    for keep in (False, True):
        value = averaged(keep, 2, 3)
        assert operators(value, "fold_transpose_into_reduction") == "MEAN  RESHAPE"
    assert reasons(averaged(False, 3), "fold_transpose_into_reduction") == [
        "the axes that are left change their order"
    ]


def test_a_transpose_goes_into_the_weights_behind_it() -> None:
    assert operators(flattened(), "fold_transpose_into_weights") == "RESHAPE  FULLY_CONNECTED"
    rows = call("RESHAPE", turn(x(3, 5, 7), (0, 2, 1)), ints(21, 5), new_shape=(21, 5))
    value = call("FULLY_CONNECTED", rows, w(11, 5), w(11))
    assert reasons(value, "fold_transpose_into_weights") == [
        "what is transposed is more or less than a row"
    ]


def test_numbers_agree(way: Way, tmp_path: Path) -> None:
    values = {
        "a network": network(),
        "a layer": flattened(),
        "operators on both sides": mirrored(),
        "a mean": averaged(False, 2, 3),
        "a mean that keeps its axes": averaged(True, 1, 2),
        "in no order": call("TANH", call("ADD", turn(x(2, 3, 5, 7), FIRST), x(2, 7, 3, 5))),
    }
    cases = [Case("TRANSPOSE", f"around {name}", value) for name, value in values.items()]
    assert problems(cases, way, tmp_path) == {}
