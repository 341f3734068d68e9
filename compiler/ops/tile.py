"""How much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..devices import Profile


@dataclass(frozen=True)
class Tile:
    """Pixels along a row times slices of output channels."""

    pixels: int
    blocks: int
    sums: int = 1
    """Accumulators for each of them, where a kernel computes several values from the same pixel."""
    estimate: float = field(default=0.0, compare=False)
    """Time by the estimate, which only says which of several tiles is faster."""

    @property
    def accumulators(self) -> int:
        return self.pixels * self.blocks * self.sums


def choose_tile(
    columns: int,
    rows: int,
    slices: int,
    profile: Profile,
    whole_blocks: bool = False,
    most: int | None = None,
    sums: int = 1,
) -> Tile:
    """The profile's tile if it is one of `shapes` and fits, or else that with the least estimate.

    With `whole_blocks` a tile may not reach past the last slice; `most` bounds its pixels; `sums`
    are the accumulators for each pixel and slice.
    """
    profile = replace(profile, accumulators=max(profile.accumulators // sums, 1))
    widest = min(columns, most or columns)

    def fits(pixels: int, blocks: int) -> bool:
        whole = not whole_blocks or slices % blocks == 0
        return pixels <= widest and blocks <= slices and whole

    def estimated(pixels: int, blocks: int) -> Tile:
        steps = _estimate(pixels, blocks, sums, columns, rows, slices, profile)
        return Tile(pixels, blocks, sums, steps)

    fitting = {tile: estimated(*tile) for tile in shapes(profile) if fits(*tile)}
    own = fitting.get(profile.tile) if profile.tile else None
    return own or min(fitting.values(), key=lambda tile: tile.estimate)


def shapes(profile: Profile) -> list[tuple[int, int]]:
    """Pixels and slices of every tile whose accumulators the device has registers for."""
    return [
        (pixels, blocks)
        for blocks in range(1, profile.tile_slices + 1)
        for pixels in range(1, max(profile.accumulators // blocks, 1) + 1)
    ]


def _estimate(
    pixels: int, blocks: int, sums: int, columns: int, rows: int, slices: int, profile: Profile
) -> float:
    """A step of the inner loop multiplies `pixels` inputs with `blocks` times `sums` weights.

    Its loads cost about half a multiply-add. Work past the edges is wasted, and too few work-items
    leave the device idle.
    """
    items = max(-(-columns // pixels) * -(-slices // blocks) * rows, 1)
    weights = blocks * sums
    steps = items * (pixels * weights + 0.5 * (pixels + weights) + 1)
    return steps * max(1.0, profile.work_items / items)
