"""Reshapes after transposes, and networks that are full of both."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, reshape, transpose, w, x
from graphs.channels_first import FIRST, LAST, conv_channels_first
from rewriting import assert_agrees, assert_becomes, assert_declines, compiled, operators

from tflgpu.compiler.rewrites.layout.around_reshapes import move_reshapes


def shuffled() -> Value:
    """Channels of two groups, shuffled."""
    image = conv_channels_first(transpose(x(2, 5, 7, 3), *FIRST), 6, 3)
    groups = reshape(image, 2, 2, 3, 5, 7)
    mixed = reshape(transpose(groups, 0, 2, 1, 3, 4), 2, 6, 5, 7)
    return transpose(conv_channels_first(mixed, 3, 6), *LAST)


def patches() -> Value:
    """An image as a row of vectors, with a position added to each."""
    image = conv_channels_first(transpose(x(2, 6, 4, 3), *FIRST), 16, 3)
    return call("ADD", transpose(reshape(image, 2, 16, 24), 0, 2, 1), w(24, 16))


def detections() -> list[Value]:
    """Boxes as distributions, and classes, of feature maps of two sizes."""
    sizes = (6, 4)
    images = [conv_channels_first(transpose(x(1, n, n, 3), *FIRST), 20, 3) for n in sizes]
    rows = [reshape(image, 1, 20, n * n) for image, n in zip(images, sizes, strict=True)]
    both = call("CONCATENATION", *rows, axis=2)
    boxes = call("SLICE", both, ints(0, 0, 0), ints(1, 16, 52))
    classes = call("STRIDED_SLICE", both, ints(0, 16, 0), ints(1, 20, 52), ints(1, 1, 1))
    sides = transpose(reshape(boxes, 1, 4, 4, 52), 0, 3, 1, 2)
    return [call("SOFTMAX", sides, beta=1.0), transpose(call("LOGISTIC", classes), 0, 2, 1)]


NETWORKS = {"shuffled": [shuffled()], "patches": [patches()], "detections": detections()}
# Transposes that move values in memory, which only a shuffle does.
LEFT = {"shuffled": 1, "patches": 0, "detections": 0}


def test_the_reshape_moves_before_the_transpose() -> None:
    source = """
        input x float32[1,5,7,3]
        constant first int32[4] = 0, 3, 1, 2
        t = TRANSPOSE(x, first)
        y = RESHAPE(t) new_shape=(1,3,35)
        output y
    """
    expected = """
        y/first = RESHAPE(x) new_shape=(1,35,3)
        y = TRANSPOSE(y/first, y/order)
    """
    graph = assert_becomes(source, expected, move_reshapes)
    assert graph.ops[1].constant(1).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            reshape(transpose(x(3, 5, 7), 0, 2, 1), 21, 5),
            "the reshape merges axes that are not adjacent before the transpose",
        ),
        (reshape(transpose(x(2, 5, 6), 0, 2, 1), 2, 2, 3, 5), "the reshape splits axes"),
    ],
    ids=["merges", "splits"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", move_reshapes)


def test_a_transpose_that_others_read_stays() -> None:
    needed = transpose(x(1, 5, 7, 3), *FIRST)
    both = [reshape(needed, 1, 3, 35), call("TANH", needed)]
    assert operators(both, move_reshapes) == "TRANSPOSE  RESHAPE  TANH"


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_keep_only_transposes_that_move_values(name: str) -> None:
    labels = [d.label.split(" -> ")[0] for d in compiled(NETWORKS[name]).plan.dispatches]
    assert labels.count("TRANSPOSE") == LEFT[name]


def test_numbers_agree(tmp_path: Path) -> None:
    dropped_ones = call("SQUEEZE", transpose(x(2, 3, 1, 5), *FIRST), squeeze_dims=(3,))
    assert_agrees(tmp_path, *NETWORKS.values(), dropped_ones)
