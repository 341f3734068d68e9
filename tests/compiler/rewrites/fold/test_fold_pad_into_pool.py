"""Padding before a maximum over windows: when it becomes that of the pooling."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.convolutions import window
from cases.quantized_layers import bias, weights
from graphs import Value, call, number, quantized, table, x, xq
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.fold.fold_pads import fold_pad_into_pool
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized

LOWEST = float(np.finfo(np.float32).min)
AROUND = ((1, 1), (1, 1))


def padded(image: Value, fill: float | None, *pairs: tuple[int, int]) -> Value:
    """Rows and columns are padded by `pairs`, or all axes if there are four."""
    pads = table(*(pairs if len(pairs) == 4 else ((0, 0), *pairs, (0, 0))))
    return call("PAD", image, pads) if fill is None else call("PADV2", image, pads, number(fill))


def pool(image: Value, size: int = 3, stride: int = 2, padding: str = "VALID") -> Value:
    window = {"filter_height": size, "filter_width": size, "stride_h": stride, "stride_w": stride}
    return call("MAX_POOL_2D", image, padding=padding, **window)


def deep() -> Value:
    """A feature map far below zero."""
    return x(2, 7, 6, 19, draw="deep")


FOLDED = {
    "infinite": pool(padded(deep(), -np.inf, *AROUND)),
    "lowest": pool(padded(deep(), LOWEST, (2, 0), (0, 1))),
    "in addition to its own": pool(padded(deep(), LOWEST, *AROUND), padding="SAME"),
    "zeros after RELU": pool(padded(call("RELU", x(2, 7, 6, 19)), None, *AROUND)),
    "below zero after LOGISTIC": pool(padded(call("LOGISTIC", x(2, 7, 6, 3)), -0.5, *AROUND)),
}

KEPT = {
    "the padding value 0.0 may be a maximum": pool(padded(deep(), None, *AROUND)),
    "the padding value 0.5 may be a maximum": pool(
        padded(call("RELU", x(2, 7, 6, 19)), 0.5, *AROUND)
    ),
    "it pads the batch or the channels": pool(
        padded(deep(), LOWEST, (0, 0), (1, 1), (1, 1), (0, 2))
    ),
    "a window lies entirely in the padding": pool(padded(deep(), LOWEST, (0, 4), (1, 1)), 3, 1),
}


@pytest.mark.parametrize("name", FOLDED)
def test_it_becomes_the_padding_of_the_pooling(name: str) -> None:
    value = FOLDED[name]
    expected = operators(value).replace("PADV2  ", "").replace("PAD  ", "")
    assert operators(value, fold_pad_into_pool) == expected
    assert kernels(value, fold_pad_into_pool) - kernels(value) == 1


def test_rows_and_columns_are_padded_as_before() -> None:
    source = f"""
        input x float32[2,7,6,19] deep
        constant pairs int32[4,2] = 0, 0, 2, 0, 0, 1, 0, 0
        constant least float32[] = {LOWEST!r}
        p = PADV2(x, pairs, least)
        y = MAX_POOL_2D(p) padding=VALID filter_height=3 filter_width=3 stride_h=2 stride_w=2
        output y
    """
    expected = (
        "y = MAX_POOL_2D(x) padding=((2,0),(0,1)) filter_height=3 filter_width=3 "
        "stride_h=2 stride_w=2"
    )
    assert_becomes(source, expected, fold_pad_into_pool)


def integers(zero: int) -> Value:
    """The pooling of int8, of which `zero` stands for 0 and is the padding."""
    like: dict[str, Any] = {"scale": 0.4, "zero": zero}
    filters = weights((8, 3, 3, 5), channels=True, dtype="int8")
    image = quantized("CONV_2D", xq(1, 7, 6, 5), filters, bias(filters, 8), **like, **window())
    around = quantized("PAD", image, table((0, 0), *AROUND, (0, 0)), **like)
    size: dict[str, Any] = dict.fromkeys(("filter_height", "filter_width"), 3)
    size |= {"stride_h": 2, "stride_w": 2}
    return quantized("MAX_POOL_2D", around, padding="VALID", **size, **like)


@pytest.mark.parametrize(("zero", "count"), [(-128, 0), (-127, 1)])
def test_no_integer_is_less_than_the_least_one(zero: int, count: int) -> None:
    found = operators(integers(zero), lower_quantized, fold_pad_into_pool)
    assert found.split().count("PAD") == count


@pytest.mark.parametrize("reason", KEPT)
def test_it_declines(reason: str) -> None:
    assert_declines(KEPT[reason], f"^{reason}$", fold_pad_into_pool)


def test_padding_that_others_read_stays() -> None:
    image = padded(deep(), LOWEST, *AROUND)
    both = [pool(image), call("TANH", image)]
    assert operators(both, fold_pad_into_pool) == "PADV2  MAX_POOL_2D  TANH"


def test_numbers_agree(tmp_path: Path) -> None:
    values = (*FOLDED.values(), *KEPT.values(), integers(-128))
    assert_agrees(tmp_path, *values, off=[fold_pad_into_pool])
