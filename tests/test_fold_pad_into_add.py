"""PAD of channels before ADD: BlazeFace's residuals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import Value, call, known, w, x
from rewrites import assert_agrees, kernels, operators, reasons

RULE = "fold_pad_into_add"
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def pad(value: Value, *pairs: tuple[int, int]) -> Value:
    return call("PAD", value, known(np.array(pairs, np.int32)))


def block(narrow: int, wide: int, *, before: int = 0, rows: int = 0, fill: float = 0) -> Value:
    """A convolution and its input, padded to as many channels, added."""
    image = x(1, 7 - rows, 5, narrow)
    padding = [(0, 0), (0, rows), (0, 0), (before, wide - narrow - before)]
    padded = pad(image, *padding)
    if fill:
        values = known(np.float32(fill))
        padded = call("PADV2", image, known(np.array(padding, np.int32)), values)
    value = call("CONV_2D", x(1, 7, 5, 3), w(wide, 1, 1, 3), w(wide), **WINDOW)
    return call("ADD", padded, value)


def test_the_pad_goes_away() -> None:
    value = block(17, 37)
    assert operators(value) in ("PAD  CONV_2D  ADD", "CONV_2D  PAD  ADD")
    assert operators(value, RULE, "fuse_elementwise") == "CONV_2D | tflgpu.add_padded"
    assert kernels(value) == 2  # and what brings the input into slices


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (block(17, 37, before=3), "it pads more than the end of the channels"),
        (block(17, 37, rows=1), "it pads more than the end of the channels"),
        (block(17, 37, fill=2.5), "it pads with 2.5"),
        (block(1, 37), "a single channel would count as one for all channels"),
        (
            call("ADD", pad(x(1, 7, 5, 3), (0, 0), (0, 0), (0, 0), (0, 2)), x(7, 7, 5, 5)),
            "the other operand has another shape",
        ),
    ],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert reasons(value, RULE) == [reason]


@pytest.mark.parametrize("narrow, wide", [(17, 37), (2, 3), (16, 48), (5, 16), (1, 7)])
def test_numbers_agree(narrow: int, wide: int, tmp_path: Path) -> None:
    assert_agrees(block(narrow, wide), tmp_path, RULE, "fuse_elementwise")
