"""Tiles: how much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from ...ir import Op
from ...target import Target
from .cost import WHOLE_SLICES, Step, Work
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
    def accumulators(self) -> int:
        return self.pixels * self.slices * self.sums


@dataclass(frozen=True)
class TileLimits:
    """The largest tiles a device has registers for."""

    accumulators: int  # Slice-wide accumulators of a work-item.
    slices: int  # Slices of output channels of a tile.

    @classmethod
    def of(cls, target: Target, half: bool = False) -> TileLimits:
        """Those of the profile; twice as many accumulators if two halves share a register."""
        twice = half and target.device.paired_halves
        return cls(target.device.accumulators * (1 + twice), target.device.tile_slices)

    def shapes(self) -> list[TileShape]:
        return [
            (pixels, slices)
            for slices in range(1, self.slices + 1)
            for pixels in range(1, max(self.accumulators // slices, 1) + 1)
        ]


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

    def blocks(self, tile: Tile) -> int:
        """How many tiles share the slices of a pixel."""
        return -(-self.slices // tile.slices)

    def grid(self, tile: Tile) -> tuple[int, int, int]:
        """One work-item per tile: (tiles of a row, rows, batches * blocks)."""
        return -(-self.columns // tile.pixels), self.rows, self.batches * self.blocks(tile)


def choose_tile(
    area: Area,
    target: Target,
    wanted: TileShape | None = None,
    *,
    limits: TileLimits | None = None,
    whole_blocks: bool = False,
    most: int | None = None,
    work: Work = WHOLE_SLICES,
) -> Tile:
    """The wanted tile if it fits, otherwise the one with the smallest estimated time.

    `limits` default to the device's; with `whole_blocks` the tile's slices must divide those of the
    area; `most` bounds the tile's pixels; `work` says what the kernel loads and holds.

    Tiles that need more registers than the device has for full speed are rejected, unless all do.
    """
    if limits is None:
        limits = TileLimits.of(target, work.in_half(target))
    limits = TileLimits(max(limits.accumulators // area.sums, 1), limits.slices)
    widest = min(area.columns, most or area.columns)

    def fits(shape: TileShape) -> bool:
        whole = not whole_blocks or area.slices % shape[1] == 0
        return shape[0] <= widest and shape[1] <= area.slices and whole

    def step_of(shape: TileShape) -> Step:
        ragged = area.columns % shape[0] > 0
        return work.step(*shape, area.sums, target, ragged, area.operands)

    def estimated(shape: TileShape, step: Step) -> Tile:
        tile = Tile(*shape, area.sums)
        items = max(prod(area.grid(tile)), 1)
        idle = max(1.0, target.device.work_items / items)
        estimate = items * step.cost * idle
        return replace(tile, estimate=estimate, explanation=step.explanation(items, idle))

    fitting = [shape for shape in limits.shapes() if fits(shape)]
    if wanted in fitting:
        return estimated(wanted, step_of(wanted))
    steps = {shape: step_of(shape) for shape in fitting}
    kept = [shape for shape in fitting if not steps[shape].spills] or [min(fitting, key=prod)]
    return min((estimated(shape, steps[shape]) for shape in kept), key=lambda tile: tile.estimate)
