"""How much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...target import Target

TileShape = tuple[int, int]
"""Pixels and slices of output channels."""


@dataclass(frozen=True)
class Tile:
    """Pixels along a row times slices of output channels."""

    pixels: int
    slices: int
    sums: int = 1
    """Accumulators for each of them, where a kernel computes several values from the same pixel."""
    estimate: float = field(default=0.0, compare=False)
    """Time by the estimate, which only says which of several tiles is faster."""

    @property
    def accumulators(self) -> int:
        return self.pixels * self.slices * self.sums


@dataclass(frozen=True)
class TileLimits:
    """Which tiles a device has registers for."""

    accumulators: int
    """Slice-wide accumulators."""
    slices: int
    """Slices of output channels."""

    @classmethod
    def of(cls, target: Target) -> TileLimits:
        return cls(target.device.accumulators, target.device.tile_slices)

    def shapes(self) -> list[TileShape]:
        """Every tile within the limits."""
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
) -> Tile:
    """The wanted tile if it fits, or else the one with the least estimated time.

    The output has that many columns, rows and slices. `limits` are the device's unless given; with
    `whole_blocks` a tile may not reach past the last slice; `most` bounds its pixels; `sums` are
    the accumulators for each pixel and slice.
    """
    limits = limits or TileLimits.of(target)
    limits = TileLimits(max(limits.accumulators // sums, 1), limits.slices)
    widest = min(columns, most or columns)

    def fits(shape: TileShape) -> bool:
        whole = not whole_blocks or slices % shape[1] == 0
        return shape[0] <= widest and shape[1] <= slices and whole

    def estimated(shape: TileShape) -> Tile:
        steps = _estimate(shape, sums, columns, rows, slices, target.device.work_items)
        return Tile(*shape, sums, steps)

    fitting = {shape: estimated(shape) for shape in limits.shapes() if fits(shape)}
    chosen = fitting.get(wanted) if wanted else None
    return chosen or min(fitting.values(), key=lambda tile: tile.estimate)


def _estimate(
    shape: TileShape, sums: int, columns: int, rows: int, slices: int, work_items: int
) -> float:
    """A step of the inner loop multiplies `pixels` inputs with `blocks` times `sums` weights.

    Its loads cost about half a multiply-add. Work past the edges is wasted, and fewer work-items
    than the device needs leave it idle.
    """
    pixels, blocks = shape
    items = max(-(-columns // pixels) * -(-slices // blocks) * rows, 1)
    weights = blocks * sums
    steps = items * (pixels * weights + 0.5 * (pixels + weights) + 1)
    return steps * max(1.0, work_items / items)
