"""What the kernels of depthwise convolutions cost: all that a work-item loads, stores and adds up.

Their work-items walk down columns of the image; a tile has so many rows of the output.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..target import Target
from .base import Step, Window
from .base.cost import ADDRESS, BESIDES, stored_registers

COLUMNS = 2
"""Columns of the output that a work-item computes if pixels are loaded in pairs."""


@dataclass(frozen=True)
class SingleColumn:
    """A column of the output, with the window walked column by column.

    Each pixel below the first one adds as many loads as its window moves down, and a store.
    """

    window: Window

    def in_half(self, target: Target) -> bool:
        return target.half_arithmetic

    def step(
        self, pixels: int, blocks: int, sums: int, target: Target, ragged: bool, operands: int = 0
    ) -> Step:
        """Weights of a column of the window are held, a pixel and the next one, and where operands
        of the epilogue lie, which is not where the result does.
        """
        window, device = self.window, target.device
        rows = (pixels - 1) * window.stride_y + (window.height - 1) * window.dilation_y + 1
        products = pixels * window.height * window.width
        loads = window.width * (rows + window.height) + 1
        paired = self.in_half(target) and device.paired_halves
        wide = target.lanes // 2 if paired else target.lanes
        addresses = ADDRESS * ((pixels if ragged else 0) + (operands > 0))
        multiplying = wide * (pixels + window.height + 2) + addresses + BESIDES
        registers = max(multiplying, stored_registers(pixels, wide, operands, target))
        cost = products + device.load_cost * (loads + pixels)
        return Step(products, loads, cost, registers, device.registers)


@dataclass(frozen=True)
class PairedColumns:
    """Two neighbouring columns in half precision, the window of which a loop walks row by row."""

    window: Window

    def in_half(self, target: Target) -> bool:
        return target.half_arithmetic

    def step(
        self, pixels: int, blocks: int, sums: int, target: Target, ragged: bool, operands: int = 0
    ) -> Step:
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
