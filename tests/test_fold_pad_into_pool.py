"""Padding in front of a maximum over windows: where it goes into the pooling, where it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import Value, call, known, number, x
from rewrites import assert_agrees, kernels, operators, reasons, text

RULE = "fold_pad_into_pool"
LOWEST = float(np.finfo(np.float32).min)


def padded(image: Value, fill: float | None, *table: tuple[int, int]) -> Value:
    """Rows and columns are padded by `table`, or all axes where it has four entries."""
    whole = table if len(table) == 4 else ((0, 0), *table, (0, 0))
    pads = known(np.array(whole, np.int32))
    if fill is None:
        return call("PAD", image, pads)
    return call("PADV2", image, pads, number(fill))


def pool(image: Value, size: int = 3, stride: int = 2, padding: str = "VALID") -> Value:
    window = {"filter_height": size, "filter_width": size, "stride_h": stride, "stride_w": stride}
    return call("MAX_POOL_2D", image, padding=padding, **window)


def deep() -> Value:
    """A picture far below zero."""
    return x(2, 7, 6, 19, draw="deep")


AROUND = ((1, 1), (1, 1))

FOLDED = {
    "infinite": pool(padded(deep(), -np.inf, *AROUND)),
    "lowest": pool(padded(deep(), LOWEST, (2, 0), (0, 1))),
    "of its own, too": pool(padded(deep(), LOWEST, *AROUND), padding="SAME"),
    "zeros behind RELU": pool(padded(call("RELU", x(2, 7, 6, 19)), None, *AROUND)),
    "below zero behind LOGISTIC": pool(padded(call("LOGISTIC", x(2, 7, 6, 3)), -0.5, *AROUND)),
}

KEPT = {
    "0.0 may be a maximum": pool(padded(deep(), None, *AROUND)),
    "0.5 may be a maximum": pool(padded(call("RELU", x(2, 7, 6, 19)), 0.5, *AROUND)),
    "it pads the batch or the channels": pool(
        padded(deep(), LOWEST, (0, 0), (1, 1), (1, 1), (0, 2))
    ),
    "a window lies in the padding as a whole": pool(padded(deep(), LOWEST, (0, 4), (1, 1)), 3, 1),
}


@pytest.mark.parametrize("name", FOLDED)
def test_it_becomes_the_pooling_s_own(name: str) -> None:
    value = FOLDED[name]
    assert operators(value, RULE) == operators(value).replace("PADV2  ", "").replace("PAD  ", "")
    assert kernels(value, RULE) - kernels(value) == 1


def test_the_text() -> None:
    assert text(FOLDED["lowest"], RULE) == (
        "t1 = MAX_POOL_2D(x0) padding=((2,0),(0,1)) stride_w=2 stride_h=2 filter_width=3 "
        "filter_height=3 fused_activation_function=NONE"
    )


@pytest.mark.parametrize("reason", KEPT)
def test_it_declines(reason: str) -> None:
    assert reasons(KEPT[reason], RULE) == [reason]


def test_it_stays_where_others_need_it() -> None:
    image = padded(deep(), LOWEST, *AROUND)
    assert operators([pool(image), call("TANH", image)], RULE) == "PADV2  MAX_POOL_2D  TANH"


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees([*FOLDED.values(), *KEPT.values()], tmp_path, RULE)
