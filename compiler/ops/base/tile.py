"""Tiles: how much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ...target import Target
from .cost import WHOLE_SLICES, Step, Work

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


def choose_tile(
    columns: int,
    rows: int,
    slices: int,
    target: Target,
    wanted: TileShape | None = None,
    *,
    limits: TileLimits | None = None,
    whole_blocks: bool = False,
    most: int | None = None,
    sums: int = 1,
    work: Work = WHOLE_SLICES,
    operands: int = 0,
) -> Tile:
    """The wanted tile if it fits, otherwise the one with the smallest estimated time.

    `columns`, `rows` and `slices` are the size of the output. `limits` default to the device's;
    with `whole_blocks` the tile's slices must divide those of the output; `most` bounds the tile's
    pixels; `sums` is the number of accumulators per pixel and slice; `work` says what the kernel
    loads and holds; `operands` is the number of slices that its epilogue reads for each one stored.

    Tiles that need more registers than the device has for full speed are rejected, unless all do.
    """
    if limits is None:
        limits = TileLimits.of(target, work.in_half(target))
    limits = TileLimits(max(limits.accumulators // sums, 1), limits.slices)
    widest = min(columns, most or columns)

    def fits(shape: TileShape) -> bool:
        whole = not whole_blocks or slices % shape[1] == 0
        return shape[0] <= widest and shape[1] <= slices and whole

    def step_of(shape: TileShape) -> Step:
        return work.step(*shape, sums, target, columns % shape[0] > 0, operands)

    def estimated(shape: TileShape, step: Step) -> Tile:
        pixels, blocks = shape
        items = max(-(-columns // pixels) * -(-slices // blocks) * rows, 1)
        idle = max(1.0, target.device.work_items / items)
        return Tile(*shape, sums, items * step.cost * idle, step.explanation(items, idle))

    fitting = [shape for shape in limits.shapes() if fits(shape)]
    if wanted in fitting:
        return estimated(wanted, step_of(wanted))
    steps = {shape: step_of(shape) for shape in fitting}
    kept = [shape for shape in fitting if not steps[shape].spills] or [min(fitting, key=prod)]
    return min((estimated(shape, steps[shape]) for shape in kept), key=lambda tile: tile.estimate)
