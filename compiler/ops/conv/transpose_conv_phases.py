"""Phases of transposed convolutions: the output pixels between two adjacent input pixels.

With a stride of 2 there are 2 x 2 phases. Output row `row * stride + phase - padding` reads input
rows `row`, `row - 1`, ... through rows `phase`, `phase + stride`, ... of the window; columns work
the same way. A work-item that computes all phases of a pixel reads each input pixel once for all of
them instead of once for each. So does a convolution to which phases are channels; what it computes
becomes pixels by `PHASES_TO_SPACE` of `move/space_to_depth.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import Array, Deferred, Tensor, constant
from ...target import Target
from ..base.storage import slice_count
from ..base.window import Window
from ..layers.weights import PackedWeights

PRODUCTS_OF_BYTES = 3  # That take about as long as one of floats.


@dataclass(frozen=True)
class Neighbours:
    """Adjacent input pixels that the same phases read."""

    row: int  # Rows from the first of them down to the work-item's own pixel.
    rows: int
    column: int  # Columns from the first of them to the work-item's own pixel.
    columns: int
    down: int  # Rows of phases that read them.
    across: int  # Columns of phases that read them.
    start: int  # Start of their weights within those of a block of output slices, in slices.


@dataclass(frozen=True)
class Phases:
    """The phases of a transposed convolution whose output has `height` rows and `width` columns."""

    window: Window
    height: int
    width: int

    @property
    def count(self) -> int:
        return self.window.stride_y * self.window.stride_x

    @property
    def first_row(self) -> int:
        """The input row of the first row of work-items."""
        return self.window.top // self.window.stride_y

    @property
    def first_column(self) -> int:
        return self.window.left // self.window.stride_x

    @property
    def rows(self) -> int:
        """Input rows of which at least one phase lies in the output."""
        return (self.height - 1 + self.window.top) // self.window.stride_y - self.first_row + 1

    @property
    def columns(self) -> int:
        return (self.width - 1 + self.window.left) // self.window.stride_x - self.first_column + 1

    @property
    def taps_down(self) -> int:
        """Most input rows that a phase reads."""
        return -(-self.window.height // self.window.stride_y)

    @property
    def taps_across(self) -> int:
        return -(-self.window.width // self.window.stride_x)

    @property
    def as_pixels(self) -> dict[str, Any]:
        """The attributes with which `PHASES_TO_SPACE` makes an image of channels of phases."""
        window = self.window
        return {
            "blocks": (window.stride_y, window.stride_x),
            "crops": (window.top % window.stride_y, window.left % window.stride_x),
            "size": (self.height, self.width),
        }

    def padding(self, height: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """What a convolution by the weights of `as_channels` needs around an input."""
        rows = self.taps_down - 1 - self.first_row, self.first_row + self.rows - height
        columns = self.taps_across - 1 - self.first_column, self.first_column + self.columns - width
        return rows, columns

    def too_many_products(self) -> str | None:
        """Why such a convolution, by bytes, has too many products to be faster; None if it is."""
        taps = self.count * self.taps_down * self.taps_across
        own = self.window.height * self.window.width
        if taps > PRODUCTS_OF_BYTES * own:
            return f"its phases read {taps} pixels, of which {own} count"
        return None

    def overhangs(self, pixels: int) -> tuple[bool, bool, bool, bool]:
        """Whether tiles of `pixels` pixels exceed the output: above, below, on the left, right."""
        window = self.window
        ends_at = (self.first_row + self.rows) * window.stride_y - window.top
        tiles = -(-self.columns // pixels)
        stops_at = (self.first_column + tiles * pixels) * window.stride_x - window.left
        above = window.top % window.stride_y > 0
        before = window.left % window.stride_x > 0
        return above, ends_at > self.height, before, stops_at > self.width

    @property
    def all_taps(self) -> Neighbours:
        """All input pixels at once, for kernels whose weights are zero where a phase reads none."""
        window = self.window
        return Neighbours(
            0, self.taps_down, 0, self.taps_across, window.stride_y, window.stride_x, 0
        )

    def parts(self, inputs: int, blocks: int) -> Iterator[Neighbours]:
        """The input pixels in groups that the same phases read.

        If the window is not a multiple of the stride, only some phases read the last group.
        """
        start = 0
        for row, rows, down in _ranges(self.window.height, self.window.stride_y):
            for column, columns, across in _ranges(self.window.width, self.window.stride_x):
                yield Neighbours(row, rows, column, columns, down, across, start)
                start += rows * columns * inputs * down * across * blocks

    def rows_beyond(self, part: Neighbours, height: int) -> tuple[bool, bool]:
        """Whether a part reaches above and below an input of so many rows."""
        last = self.first_row + self.rows - 1 - part.row
        return self.first_row - (part.row + part.rows - 1) < 0, last >= height

    def columns_beyond(self, part: Neighbours, width: int, pixels: int = 1) -> tuple[bool, bool]:
        """Whether it reaches beyond so many columns left and right, in tiles of `pixels` pixels."""
        reached = -(-self.columns // pixels) * pixels
        last = self.first_column + reached - 1 - part.column
        return self.first_column - (part.column + part.columns - 1) < 0, last >= width


def _ranges(size: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """(first pixel, pixels, phases): those that all phases read, then one that only some read."""
    if size >= stride:
        yield 0, size // stride, stride
    if size % stride:
        yield size // stride, 1, size % stride


def pack_phases(weights: Array, phases: Phases, blocks: int, target: Target) -> Array:
    """OHWI weights in the order in which the kernel reads them, part by part, float32.

    [block of output slices][part][row][column][input channel][phase][slice of the block][lane].
    """
    lanes = target.lanes
    outputs, *size, inputs = weights.shape
    count = -(-slice_count(outputs, target) // blocks)
    padded = np.zeros((count * blocks * lanes, *size, inputs), np.float32)
    padded[:outputs] = weights
    window = phases.window
    packed = []
    for part in phases.parts(inputs, blocks):
        rows = _taps(part.row, part.rows, window.stride_y, part.down)
        columns = _taps(part.column, part.columns, window.stride_x, part.across)
        taps = padded[:, rows.reshape(-1)][:, :, columns.reshape(-1)]
        apart = taps.reshape(count, blocks, lanes, *rows.shape, *columns.shape, inputs)
        packed.append(apart.transpose(0, 3, 5, 7, 4, 6, 1, 2).reshape(count, -1, lanes))
    return np.ascontiguousarray(np.concatenate(packed, axis=1)).reshape(-1, lanes)


def _taps(first: int, count: int, stride: int, phases: int) -> Array:
    """The window rows or columns through which phases read pixels: [pixel][phase]."""
    pixels = np.arange(first, first + count) * stride
    return pixels[:, None] + np.arange(phases)


def repeated(table: Array, phases: Phases) -> Array:
    """A number, or one for each output channel, for the channels of all phases."""
    return np.tile(table.reshape(-1), phases.count if table.size > 1 else 1)


def pack_thin(weights: Array, phases: Phases, vectors: int, target: Target) -> PackedWeights:
    """OHWI weights with phases and output channels in the lanes, float32.

    [row][column][input channel][vector][lane], where vectors and lanes together are
    [phase][output channel]. Weights are zero where a phase reads no pixel.
    """
    turned = as_channels(weights, phases)[:, ::-1, ::-1]
    return PackedWeights(turned, vectors, target.lanes)


def weights_of_phases(weights: Tensor, phases: Phases) -> Tensor:
    """Constant OHWI weights as those of a convolution to which phases are channels."""
    outputs, *_, inputs = weights.shape
    shape = (phases.count * outputs, phases.taps_down, phases.taps_across, inputs)
    values = Deferred(shape, np.dtype(weights.dtype), lambda: as_channels(weights.values, phases))
    return constant(f"{weights.name}/phases", values)


def as_channels(weights: Array, phases: Phases) -> Array:
    """OHWI weights with an output channel for each phase: [phase, output][row][column][input].

    The last row and column are those of a phase's own pixel. Weights are zero where it reads none.
    """
    outputs, height, width, inputs = weights.shape
    down, across = phases.window.stride_y, phases.window.stride_x
    whole = np.zeros(
        (outputs, phases.taps_down * down, phases.taps_across * across, inputs), weights.dtype
    )
    whole[:, :height, :width] = weights
    apart = whole.reshape(outputs, phases.taps_down, down, phases.taps_across, across, inputs)
    by_phase = apart.transpose(2, 4, 0, 1, 3, 5)
    joined = by_phase.reshape(-1, phases.taps_down, phases.taps_across, inputs)
    return np.ascontiguousarray(joined[:, ::-1, ::-1])
