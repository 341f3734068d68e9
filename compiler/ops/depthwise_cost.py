"""What the kernels of depthwise convolutions cost: all that a work-item loads, stores and adds up.

Their work-items walk down columns of the image; a tile has so many rows of the output.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..target import Target
from .base import Step, Window
from .base.cost import BESIDES

COLUMNS = 2
"""Columns of the output that a work-item computes if pixels are loaded in pairs."""


@dataclass(frozen=True)
class PairedColumns:
    """Two neighbouring columns in half precision, the window of which a loop walks row by row."""

    window: Window

    def in_half(self, target: Target) -> bool:
        return target.half_arithmetic

    def step(self, pixels: int, blocks: int, sums: int, target: Target, ragged: bool) -> Step:
        """Weights stay packed, two halves a register, and so does what is loaded."""
        window, lanes = self.window, target.lanes
        taps = window.height * window.width
        behind = (window.height - 1) // window.stride_y
        rows = pixels + behind
        seen = len(range(-window.left // 2 * 2, window.stride_x + window.width - window.left, 2))
        products = rows * COLUMNS * taps
        loads = rows * window.stride_y * seen + (taps + 2) // 2
        kept = behind * COLUMNS * (lanes // 2 if target.device.paired_halves else lanes)
        registers = kept + (1 + taps) * lanes // 2 + seen * lanes + BESIDES
        cost = products + target.device.load_cost * (loads + pixels)
        return Step(products, loads, cost, registers, target.device.registers)
