"""Kernels that take height and width as one axis read operands that broadcast over one of them."""

from pathlib import Path

import numpy as np
import pytest
from agreement import problems
from cases import Case
from cases.convolutions import conv
from devices import Way
from graphs import Call, call, ints, known, quantized, x, xq


def normalized() -> Call:
    """Channels of a feature map are normalized, and a row is added to each of its rows."""
    image, axis = conv(x(1, 9, 15, 32), (32, 32), (1, 1)), ints(3)
    centered = call("SUB", image, call("MEAN", image, axis, keep_dims=True))
    variance = call("MEAN", call("SQUARE", centered), axis, keep_dims=True)
    scale = call("RSQRT", call("ADD", variance, known(np.float32(1e-5))))
    moved = call("ADD", call("MUL", centered, scale), x(1, 1, 15, 32))
    return conv(moved, (32, 32), (1, 1))


def added() -> Call:
    """A row of integers is added to each row."""
    image = xq(2, 3, 2, 19, dtype="int8", scale=0.1, zero=-3)
    row = xq(1, 1, 2, 19, dtype="int8", scale=0.2, zero=5)
    return quantized("ADD", image, row, dtype="int8", scale=0.3, zero=1)


CASES = [
    Case("normalization", "a row is added", normalized()),
    Case("quantized ADD", "of rows", added(), kernels="XNNPACK"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.operator)
def test_operands_may_broadcast_over_rows(case: Case, way: Way, tmp_path: Path) -> None:
    assert not problems([case], way, tmp_path)
