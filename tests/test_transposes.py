"""Transposes that cancel around other operators, or go into constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agreement import problems
from case import Case
from conftest import Way
from graphs import Value, call, ints, known, number, parts, w, x
from rewrites import compiled, operators, reasons, text

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of axes: channels first from channels last, and back."""

MIRROR = (0, 2, 1, 3)
MIRRORED = (0, 1, 3, 2)
"""Orders that undo themselves."""


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


def turned_operators() -> dict[str, Value]:
    """What can run with its axes in another order, between transposes that cancel then."""
    image = turn(x(2, 5, 7, 6), FIRST)
    pads = known(np.array([[0, 0], [1, 0], [2, 1], [0, 3]], np.int32))
    masks = {"begin_mask": 0b0101, "end_mask": 0b1001}
    begin, end, step = ints(1, 1, 9, 5), ints(2, 4, 5, 1), ints(1, 2, 1, -2)
    values: dict[str, Value] = {
        "MIRROR_PAD": call("MIRROR_PAD", image, pads, mode="SYMMETRIC"),
        "PADV2": call("PADV2", image, pads, number(3)),
        "SLICE": call("SLICE", image, ints(1, 2, 0, 3), ints(1, -1, 4, 2)),
        "SOFTMAX": call("SOFTMAX", image, beta=0.5),
        "SPLIT": call("MAXIMUM", *parts("SPLIT", 2, ints(1), image, num_splits=2)),
        "SPLIT_V": parts("SPLIT_V", 2, image, ints(2, 3), ints(-2), num_splits=2)[1],
        "STRIDED_SLICE": call("STRIDED_SLICE", image, begin, end, step, **masks),
        "SUM": call("SUM", image, ints(-2), keep_dims=True),
        "TILE": call("TILE", image, ints(1, 2, 1, 3)),
    }
    return {name: turn(value, LAST) for name, value in values.items()}


def softmaxes() -> Value:
    """Over rows and over channels, of a picture with channels first."""
    image = convolution(turn(x(2, 5, 7, 3), FIRST), 6, 3)
    channels = turn(call("SOFTMAX", turn(image, LAST), beta=1.0), FIRST)
    rows = turn(call("SOFTMAX", turn(channels, MIRRORED), beta=1.0), MIRRORED)
    return turn(convolution(rows, 4, 6), LAST)


@pytest.mark.parametrize("name", turned_operators())
def test_an_operator_runs_in_another_order(name: str) -> None:
    value = turned_operators()[name]
    assert operators(value, "move_transposes") == operators(value).replace("TRANSPOSE", "").strip()


def test_a_slice_that_drops_an_axis_stays() -> None:
    image = turn(x(2, 5, 7, 6), FIRST)
    starts = ints(0, 1, 0, 0), ints(2, 2, 5, 7), ints(1, 1, 1, 1)
    dropped = call("STRIDED_SLICE", image, *starts, shrink_axis_mask=2)
    assert operators(dropped, "move_transposes") == "TRANSPOSE  STRIDED_SLICE"


def test_a_softmax_goes_over_the_axis_it_is_left_with() -> None:
    labels = [d.label.split(" -> ")[0] for d in compiled(softmaxes()).plan.dispatches]
    assert labels == ["CONV_2D", "SOFTMAX", "SOFTMAX", "CONV_2D"]
    value = turn(call("SOFTMAX", turn(x(2, 3, 5), (1, 2, 0)), beta=1.0), (2, 0, 1))
    assert text(value, "move_transposes") == "t1 = SOFTMAX(x0) beta=1.0 axis=0"


def halves() -> Value:
    """Both read the same transpose, and are joined behind a convolution of one of them."""
    image = convolution(turn(x(2, 5, 7, 3), FIRST), 8, 3)
    first = call("SLICE", image, ints(0, 0, 0, 0), ints(2, 4, 5, 7))
    second = call("SLICE", image, ints(0, 4, 0, 0), ints(2, 4, 5, 7))
    mean = call("MEAN", image, ints(2, 3), keep_dims=True)
    joined = call("CONCATENATION", convolution(first, 4, 4), call("MUL", second, w()), axis=1)
    return turn(convolution(call("ADD", joined, mean), 3, 8), LAST)


def test_what_reads_the_same_transpose_moves_together() -> None:
    left = operators(halves(), "move_transposes", "merge_transposes", "drop_identity")
    assert "TRANSPOSE" not in left
    image = turn(x(2, 5, 7, 6), FIRST)
    both = [turn(call("TANH", image), LAST), call("MEAN", image, ints(2, 3), keep_dims=False)]
    rules = ("move_transposes", "fold_transpose_into_reduction")
    assert operators(both, *rules) in ("MEAN  RESHAPE  TANH", "TANH  MEAN  RESHAPE")
    twice = [turn(image, (0, 1, 3, 2)), call("TANH", image)]
    assert operators(twice, "merge_transposes") == "TRANSPOSE  TRANSPOSE  TANH"


def test_fewer_transposes_of_as_many_values() -> None:
    both = [turn(x(2, 3, 5, 7), FIRST), turn(x(2, 3, 5, 4), FIRST)]
    value = call("CONCATENATION", *both, axis=1)
    assert operators(value, "move_transposes") == "CONCATENATION  TRANSPOSE"


def test_weights_that_are_computed_stay() -> None:
    flat = call("RESHAPE", turn(x(2, 3, 5, 7), FIRST), ints(2, 105), new_shape=(2, 105))
    value = call("FULLY_CONNECTED", flat, x(11, 105), w(11))
    assert reasons(value, "fold_transpose_into_weights") == [
        "the weights are computed while the model runs"
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
    values |= {**turned_operators(), "softmaxes": softmaxes(), "halves": halves()}
    cases = [Case("TRANSPOSE", f"around {name}", value) for name, value in values.items()]
    assert problems(cases, way, tmp_path) == {}
