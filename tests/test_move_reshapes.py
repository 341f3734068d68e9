"""Reshapes between transposes: which can change places, and networks that are full of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agreement import problems
from case import Case
from conftest import Way
from graphs import Value, call, ints, w, x
from rewrites import compiled, operators, reasons, text
from test_transposes import FIRST, LAST, convolution, turn

from tflgpu.compiler.ir import Shape
from tflgpu.compiler.rewrites.layout.reshape_first import reshape_first

MOVE, MERGE = "move_reshapes", "merge_around_reshape"


def reshape(value: Value, *shape: int) -> Value:
    return call("RESHAPE", value, ints(*shape), new_shape=shape)


def shuffled() -> Value:
    """Channels of two groups, shuffled."""
    groups = reshape(convolution(turn(x(2, 5, 7, 3), FIRST), 6, 3), 2, 2, 3, 5, 7)
    mixed = reshape(turn(groups, (0, 2, 1, 3, 4)), 2, 6, 5, 7)
    return turn(convolution(mixed, 3, 6), LAST)


def patches() -> Value:
    """A picture as a row of vectors, with a position added to each."""
    rows = reshape(convolution(turn(x(2, 6, 4, 3), FIRST), 16, 3), 2, 16, 24)
    return call("ADD", turn(rows, (0, 2, 1)), w(24, 16))


def detections() -> list[Value]:
    """Boxes as distributions, and classes, of pictures of two sizes."""
    pictures = [convolution(turn(x(1, n, n, 3), FIRST), 20, 3) for n in (6, 4)]
    rows = [reshape(picture, 1, 20, n * n) for picture, n in zip(pictures, (6, 4), strict=True)]
    both = call("CONCATENATION", *rows, axis=2)
    boxes = call("SLICE", both, ints(0, 0, 0), ints(1, 16, 52))
    classes = call("STRIDED_SLICE", both, ints(0, 16, 0), ints(1, 20, 52), ints(1, 1, 1))
    sides = turn(reshape(boxes, 1, 4, 4, 52), (0, 3, 1, 2))
    return [call("SOFTMAX", sides, beta=1.0), turn(call("LOGISTIC", classes), (0, 2, 1))]


NETWORKS = {"shuffled": [shuffled()], "patches": [patches()], "detections": detections()}
LEFT = {"shuffled": 1, "patches": 0, "detections": 0}
"""Transposes that move values in memory, which only shuffling does."""


@pytest.mark.parametrize(
    ("source", "order", "result", "expected"),
    [
        ((1, 5, 7, 3), (0, 3, 1, 2), (1, 3, 35), ((1, 35, 3), (0, 2, 1))),
        ((2, 5, 7, 6), (0, 3, 1, 2), (2, 2, 3, 5, 7), ((2, 5, 7, 2, 3), (0, 3, 4, 1, 2))),
        ((1, 5, 3), (0, 2, 1), (3, 5, 1), ((5, 3, 1), (1, 0, 2))),
        ((4, 6), (1, 0), (3, 2, 4), ((4, 3, 2), (1, 2, 0))),
        ((5, 7, 3), (2, 0, 1), (105,), None),
        ((4, 6), (1, 0), (4, 6), None),
        ((1, 1), (1, 0), (1,), None),
        ((0, 3), (1, 0), (0,), None),
    ],
)
def test_a_reshape_in_front(
    source: Shape, order: Shape, result: Shape, expected: tuple[Shape, Shape] | None
) -> None:
    assert reshape_first(source, order, result) == expected
    if expected is not None:
        values = np.arange(np.prod(source)).reshape(source)
        behind = values.transpose(order).reshape(result)
        assert (values.reshape(expected[0]).transpose(expected[1]) == behind).all()


def test_the_text() -> None:
    value = reshape(turn(x(1, 5, 7, 3), FIRST), 1, 3, 35)
    assert operators(value) == "TRANSPOSE  RESHAPE"
    assert text(value, MOVE).splitlines() == [
        "t1 = RESHAPE(x0) new_shape=(1,35,3)",
        "t3 = TRANSPOSE(t1, w2)",
    ]
    assert text(turn(value, (0, 2, 1)), MERGE, "drop_identity") == (
        "t1 = RESHAPE(x0) new_shape=(1,35,3)"
    )
    behind = reshape(turn(x(2, 4, 3, 5), (0, 1, 3, 2)), 2, 20, 3)
    assert text(turn(behind, (0, 2, 1)), MERGE).splitlines() == [
        "t2 = TRANSPOSE(x0, w1)",
        "t3 = RESHAPE(t2) new_shape=(2,3,20)",
    ]


def test_what_stays() -> None:
    rows = reshape(turn(x(3, 5, 7), (0, 2, 1)), 21, 5)
    assert reasons(rows, MOVE) == [
        "it merges axes that are not neighbours in front of the transpose"
    ]
    split = reshape(turn(x(2, 5, 6), (0, 2, 1)), 2, 2, 3, 5)
    assert reasons(split, MOVE) == ["the reshape splits axes"]
    apart = turn(reshape(turn(x(3, 5, 7), (0, 2, 1)), 21, 5), (1, 0))
    assert operators(apart, MERGE) == "TRANSPOSE  RESHAPE"
    torn = turn(reshape(turn(x(4, 6, 5), (1, 0, 2)), 4, 6, 5), (1, 0, 2))
    assert reasons(torn, MERGE) == [
        "the reshape merges axes that neither transpose has next to each other"
    ]
    needed = turn(x(1, 5, 7, 3), FIRST)
    both = [reshape(needed, 1, 3, 35), call("TANH", needed)]
    assert operators(both, MOVE) == "TRANSPOSE  RESHAPE  TANH"


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_keep_what_moves_values(name: str) -> None:
    labels = [d.label.split(" -> ")[0] for d in compiled(NETWORKS[name]).plan.dispatches]
    assert labels.count("TRANSPOSE") == LEFT[name]


def test_numbers_agree(way: Way, tmp_path: Path) -> None:
    values = {name: value for name, (value, *_) in NETWORKS.items()}
    values["classes"] = NETWORKS["detections"][1]
    values["dropped ones"] = call("SQUEEZE", turn(x(2, 3, 1, 5), FIRST), squeeze_dims=(3,))
    cases = [
        Case("RESHAPE", f"between transposes: {name}", value) for name, value in values.items()
    ]
    assert problems(cases, way, tmp_path) == {}
