"""Tiles: how much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import Op
from ...target import Target
from .storage import bhwc, slice_count

TileShape = tuple[int, int]  # (pixels, slices of output channels).


@dataclass(frozen=True)
class Tile:
    """Pixels along a row, times slices of output channels."""

    pixels: int
    slices: int
    # Accumulators per pixel and slice, for kernels that compute several values from one pixel.
    sums: int = 1
    # Estimated time, in arbitrary units; only comparable between tiles of one kernel.
    estimate: float = field(default=0.0, compare=False)
    # What the estimate takes into account, for people.
    explanation: str = field(default="", compare=False)

    @property
    def shape(self) -> TileShape:
        return self.pixels, self.slices

    @property
    def accumulators(self) -> int:
        return self.pixels * self.slices * self.sums


def epilogue_operands(op: Op) -> int:
    """How many slices an epilogue reads for each one that it stores."""
    return sum(tensor.number is None for tensor in op.epilogue_inputs)


@dataclass(frozen=True)
class Area:
    """The output of a kernel, which work-items compute tile by tile."""

    columns: int  # Pixels of a row.
    rows: int  # Of each batch.
    batches: int = 1
    slices: int = 1  # Of output channels.
    sums: int = 1  # Accumulators per pixel and slice.
    operands: int = 0  # Slices that the epilogue reads for each one stored.

    @classmethod
    def of(cls, op: Op, target: Target, flatten: bool, sums: int = 1, operands: int = 0) -> Area:
        """The output of an operator; with `flatten` height and width are one axis."""
        batch, height, width, channels = bhwc(op.output.shape)
        columns, rows = (height * width, 1) if flatten else (width, height)
        return cls(columns, rows, batch, slice_count(channels, target), sums, operands)

    def ragged(self, tile: Tile) -> bool:
        """Whether the last tile of a row reaches beyond its end."""
        return self.columns % tile.pixels > 0

    def blocks(self, tile: Tile) -> int:
        """How many tiles share the slices of a pixel."""
        return -(-self.slices // tile.slices)

    def grid(self, tile: Tile) -> tuple[int, int, int]:
        """One work-item per tile: (tiles of a row, rows, batches * blocks)."""
        return -(-self.columns // tile.pixels), self.rows, self.batches * self.blocks(tile)
