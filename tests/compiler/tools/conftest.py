"""Fixtures for tuning: a network, and measurements with a known result."""

from collections.abc import Sequence

import numpy as np
import pytest
from cases.convolutions import conv, window
from graphs import call, model, x

from tflgpu.compiler.sizing.sizes import Sizes
from tflgpu.compiler.tools import tune as search


@pytest.fixture(scope="session")
def network() -> bytes:
    """A 1x1 convolution, whose kernel accepts many tiles, and a 3x3 convolution after it."""
    first = call("RELU", conv(x(1, 13, 11, 7), (37, 7), (1, 1)))
    return model({"y": conv(first, (5, 37), **window("SAME", (2, 2)))}).content


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Sizes]:
    """The sizes measured so far; the tile 3 x 2 and groups of 4 work-items are the fastest."""
    seen: list[Sizes] = []

    def measure(subject: object, sizes: Sequence[Sizes]) -> list[float]:
        seen.extend(sizes)
        return [
            1 + (size.tile != (3, 2)) + sum(np.prod(group) != 4 for group in size.groups)
            for size in sizes
        ]

    monkeypatch.setattr(search, "_measure", measure)
    monkeypatch.setattr(search, "BATCH", 1000)
    return seen
