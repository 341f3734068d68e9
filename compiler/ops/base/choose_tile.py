"""The choice of a tile: the one with the smallest estimated time of those that registers hold."""

from __future__ import annotations

from collections.abc import Iterator
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


MANY = 1024  # Pixels of an area that occupies any device.


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
    Where choices of a model share its weights, tiles have the `common_slices`.
    """
    candidates = _Candidates(target, limits or _limits(target, work), whole_blocks, most, work)
    slices = candidates.common_slices(area) if target.shares_weights else None
    return candidates.best(area, slices, wanted)


def common_slices(area: Area, target: Target, work: Work) -> int:
    """The slices of the tiles that `choose_tile` gives layers with these weights and any number of
    pixels, where choices of a model share its weights: these are stored in blocks of them."""
    return _Candidates(target, _limits(target, work), False, None, work).common_slices(area)


def _limits(target: Target, work: Work) -> TileLimits:
    return TileLimits.of(target, work.in_half(target))


@dataclass(frozen=True)
class _Candidates:
    """The tiles that a kernel may have."""

    target: Target
    limits: TileLimits
    whole_blocks: bool
    most: int | None
    work: Work

    def common_slices(self, area: Area) -> int:
        """The slices of the best tile of many pixels whose store reads nothing else."""
        return self.best(replace(area, columns=MANY, rows=1, batches=1, operands=0)).slices

    def best(self, area: Area, slices: int | None = None, wanted: TileShape | None = None) -> Tile:
        """The best tile, of those with so many slices if that is not None."""
        tiles = [tile for tile in self._tiles(area) if slices in (None, tile.slices)]
        steps = {tile: self.work.step(tile, area, self.target) for tile in tiles}

        def estimated(tile: Tile) -> Tile:
            items = max(prod(area.grid(tile)), 1)
            idle = max(1.0, self.target.device.work_items / items)
            estimate = items * steps[tile].cost * idle
            return replace(
                tile, estimate=estimate, explanation=steps[tile].explanation(items, idle)
            )

        kept = [tile for tile in tiles if tile.shape == wanted]
        kept = kept or [tile for tile in tiles if not steps[tile].spills]
        kept = kept or [min(tiles, key=lambda tile: tile.accumulators)]
        return min(map(estimated, kept), key=lambda tile: tile.estimate)

    def _tiles(self, area: Area) -> Iterator[Tile]:
        """Those that the area is not smaller than."""
        widest = min(area.columns, self.most or area.columns)
        accumulators = max(self.limits.accumulators // area.sums, 1)
        for pixels, slices in replace(self.limits, accumulators=accumulators).shapes():
            whole = not self.whole_blocks or area.slices % slices == 0
            if pixels <= widest and slices <= area.slices and whole:
                yield Tile(pixels, slices, area.sums)
