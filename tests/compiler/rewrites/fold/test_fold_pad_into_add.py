"""Padding of channels before an ADD: BlazeFace's residuals."""

from pathlib import Path

import pytest
from cases.convolutions import conv
from graphs import Value, call, number, table, typed, x, xi
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.fold.fold_pads import fold_pad_into_add
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise

SUM = """
    input x float32[1,3,5,19]
    input n float32[1,3,5,7]
    constant pairs int32[4,2] = 0, 0, 0, 0, 0, 0, 0, 12
    a = ABS(x)
    p = PAD(n, pairs)
    y = ADD(p, a)
    output y
"""


def block(narrow: int, wide: int, *, before: int = 0, rows: int = 0, fill: float = 0) -> Value:
    """A convolution, and an input padded to as many channels, added."""
    image = x(1, 7 - rows, 5, narrow)
    pairs = table((0, 0), (0, rows), (0, 0), (before, wide - narrow - before))
    padded = call("PADV2", image, pairs, number(fill)) if fill else call("PAD", image, pairs)
    return call("ADD", padded, conv(x(1, 7, 5, 3), (wide, 3), (1, 1)))


def test_the_sum_reads_the_narrow_tensor() -> None:
    assert_becomes(SUM, "a = ABS(x)\n y = tflgpu.add_padded(a, n)", fold_pad_into_add)


def test_the_sum_fuses_into_a_convolution() -> None:
    value = block(17, 37)
    assert operators(value) in ("PAD  CONV_2D  ADD", "CONV_2D  PAD  ADD")
    assert operators(value, fold_pad_into_add, fuse_elementwise) == "CONV_2D | tflgpu.add_padded"
    assert kernels(value) == 2  # and the conversion of the input to slices


def of_integers() -> Value:
    """Integers of more bits than floats have, padded and added."""
    pairs = table((0, 0), (0, 0), (0, 0), (0, 12))
    narrow = typed("int32", "MUL", xi(1, 3, 5, 7, draw="large"), number(101, "int32"))
    return typed("int32", "ADD", xi(1, 3, 5, 19), typed("int32", "PAD", narrow, pairs))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (block(17, 37, before=3), "it pads more than the end of the channels"),
        (block(17, 37, rows=1), "it pads more than the end of the channels"),
        (block(17, 37, fill=2.5), "it pads with 2.5"),
        (block(1, 37), "a single channel would broadcast to all channels"),
        (
            call("ADD", call("PAD", x(1, 7, 5, 3), table(*[(0, 0)] * 3, (0, 2))), x(7, 7, 5, 5)),
            "the other operand has another shape",
        ),
        (of_integers(), "it adds integers"),
    ],
    ids=["before", "rows", "fill", "one channel", "batch", "integers"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_pad_into_add)


@pytest.mark.parametrize(("narrow", "wide"), [(17, 37), (2, 3), (16, 48), (5, 16), (1, 7)])
def test_numbers_agree(narrow: int, wide: int, tmp_path: Path) -> None:
    assert_agrees(tmp_path, block(narrow, wide), off=[fold_pad_into_add, fuse_elementwise])


def test_integers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, of_integers())
