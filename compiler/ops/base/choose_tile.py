"""The choice of a tile: the one with the smallest estimated time of those that registers hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ...target import Target
from .cost import WHOLE_SLICES, Work
from .tile import Area, Tile, TileShape


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

    def fits(tile: Tile) -> bool:
        whole = not whole_blocks or area.slices % tile.slices == 0
        return tile.pixels <= widest and tile.slices <= area.slices and whole

    def estimated(tile: Tile) -> Tile:
        items = max(prod(area.grid(tile)), 1)
        idle = max(1.0, target.device.work_items / items)
        estimate = items * steps[tile].cost * idle
        return replace(tile, estimate=estimate, explanation=steps[tile].explanation(items, idle))

    tiles = [tile for shape in limits.shapes() if fits(tile := Tile(*shape, area.sums))]
    steps = {tile: work.step(tile, area, target) for tile in tiles}
    kept = [tile for tile in tiles if tile.shape == wanted]
    kept = kept or [tile for tile in tiles if not steps[tile].spills]
    kept = kept or [min(tiles, key=lambda tile: tile.accumulators)]
    return min(map(estimated, kept), key=lambda tile: tile.estimate)
