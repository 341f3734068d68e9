"""Layers that mix pixels, between transposes: products from the left, without the transposes."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import problems
from case import Case
from conftest import Way
from graphs import Value, call, w, x
from rewrites import compiled, operators, reasons, text
from test_transposes import MIRRORED, turn

RULE = "multiply_from_left"
WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}


def conv(image: Value, outputs: int, inputs: int, size: int = 1) -> Value:
    return call("CONV_2D", image, w(outputs, size, size, inputs), w(outputs), **WINDOW)


def mixed(image: Value, pixels: int) -> Value:
    """A block of an MLP mixer, with a residual sum."""
    inner = call("GELU", conv(turn(image, MIRRORED), 23, pixels), approximate=False)
    return call("ADD", turn(conv(inner, pixels, 23), MIRRORED), image)


def layered() -> Value:
    """Of rank 3, fully connected, to another number of pixels, and without a bias."""
    swapped = turn(call("TANH", x(2, 7, 19)), (0, 2, 1))
    layer = call("FULLY_CONNECTED", swapped, w(5, 7), None, keep_num_dims=True)
    return turn(call("RELU", layer), (0, 2, 1))


VALUES = {
    "a block": mixed(call("EXP", x(1, 1, 37, 19)), 37),
    "rows of pictures": mixed(x(2, 3, 17, 33), 17),
    "few channels": mixed(x(2, 3, 7, 3), 7),
    "layers": layered(),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_transposes_go_away(name: str) -> None:
    labels = " ".join(d.label for d in compiled(VALUES[name]).plan.dispatches)
    assert "TRANSPOSE" not in labels and "BATCH_MATMUL + " in labels


def test_the_text() -> None:
    value = turn(call("RELU", conv(turn(x(1, 1, 7, 5), MIRRORED), 3, 7)), MIRRORED)
    assert text(value, RULE).splitlines() == [
        "t2 = BATCH_MATMUL(w1, x0) adj_x=False adj_y=False",
        "t4 = ADD(t2, w3)",
        "t5 = RELU(t4)",
    ]


def test_it_declines() -> None:
    image = turn(x(1, 1, 7, 5), MIRRORED)
    missing = "no transpose follows that swaps pixels and channels back"
    assert reasons(conv(image, 3, 7), RULE) == [missing]
    other = turn(conv(image, 3, 7), (0, 3, 2, 1))
    assert reasons(other, RULE) == [missing]
    wide = turn(conv(turn(x(1, 4, 7, 5), MIRRORED), 3, 7, 2), MIRRORED)
    assert operators(wide, RULE) == "TRANSPOSE  CONV_2D  TRANSPOSE"


def test_numbers_agree(way: Way, tmp_path: Path) -> None:
    cases = [Case("CONV_2D", f"mixing pixels: {name}", value) for name, value in VALUES.items()]
    assert problems(cases, way, tmp_path) == {}
