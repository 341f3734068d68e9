"""Tiles: how much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...devices import Profile
from ...target import Target

TileShape = tuple[int, int]
"""(pixels, slices of output channels)."""


@dataclass(frozen=True)
class Tile:
    """Pixels along a row, times slices of output channels."""

    pixels: int
    slices: int
    sums: int = 1
    """Accumulators per pixel and slice, for kernels that compute several values from one pixel."""
    estimate: float = field(default=0.0, compare=False)
    """Estimated time, in arbitrary units; only comparable between tiles of one kernel."""

    @property
    def accumulators(self) -> int:
        return self.pixels * self.slices * self.sums


@dataclass(frozen=True)
class TileLimits:
    """The largest tiles a device has registers for."""

    accumulators: int
    """Slice-wide accumulators of a work-item."""
    slices: int
    """Slices of output channels of a tile."""

    @classmethod
    def of(cls, target: Target) -> TileLimits:
        return cls(target.device.accumulators, target.device.tile_slices)

    def shapes(self) -> list[TileShape]:
        """Every tile shape within the limits."""
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
    by_lane: bool = False,
) -> Tile:
    """The wanted tile if it fits, otherwise the one with the smallest estimated time.

    `columns`, `rows` and `slices` are the size of the output. `limits` default to the device's;
    with `whole_blocks` the tile's slices must divide those of the output; `most` bounds the tile's
    pixels; `sums` is the number of accumulators per pixel and slice; `by_lane` says that a step
    loads a lane of each pixel, not a slice for as many steps as it has lanes.
    """
    limits = limits or TileLimits.of(target)
    limits = TileLimits(max(limits.accumulators // sums, 1), limits.slices)
    widest = min(columns, most or columns)

    def fits(shape: TileShape) -> bool:
        whole = not whole_blocks or slices % shape[1] == 0
        return shape[0] <= widest and shape[1] <= slices and whole

    def estimated(shape: TileShape) -> Tile:
        pixels, blocks = shape
        items = max(-(-columns // pixels) * -(-slices // blocks) * rows, 1)
        step = _step(pixels, blocks * sums, target.device, by_lane)
        idle = max(1.0, target.device.work_items / items)
        return Tile(*shape, sums, items * step * idle)

    fitting = {shape: estimated(shape) for shape in limits.shapes() if fits(shape)}
    chosen = fitting.get(wanted) if wanted else None
    return chosen or min(fitting.values(), key=lambda tile: tile.estimate)


def _step(pixels: int, weights: int, device: Profile, by_lane: bool) -> float:
    """Estimated time of an inner-loop step, which multiplies inputs by slices of weights.

    The unit is a multiply-add of slices. Fewer work-items than a device needs leave it idle, and
    partial tiles at the edges cost as much as whole ones, which `choose_tile` accounts for.
    """
    if device.kind == "processor":
        return pixels * weights + 0.5 * (pixels + weights) + 1
    loads = weights + (pixels if by_lane else pixels / device.slice_width)
    return pixels * weights + device.load_cost * loads + 1
