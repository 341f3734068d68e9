"""How much of the output one work-item of a convolution computes."""

from __future__ import annotations

from dataclasses import dataclass

from ..devices import Profile


@dataclass(frozen=True)
class Tile:
    """Pixels along a row times slices of output channels, one accumulator each."""

    pixels: int
    blocks: int


def choose_tile(
    columns: int,
    rows: int,
    slices: int,
    profile: Profile,
    whole_blocks: bool = False,
    most: int | None = None,
) -> Tile:
    """The tile with the least estimated time over an output of that size.

    A step of the inner loop multiplies `pixels` inputs with `blocks` slices of weights; its loads
    cost about half a multiply-add. Work past the edges is wasted, and too few work-items leave
    the device idle. With `whole_blocks` a tile may not reach past the last slice; `most` bounds its
    pixels.
    """
    best, best_cost = Tile(1, 1), float("inf")
    for blocks in (1, 2, 4):
        if blocks > slices or (whole_blocks and slices % blocks):
            continue
        for pixels in range(1, min(columns, most or columns, profile.accumulators // blocks) + 1):
            across, down = -(-columns // pixels), -(-slices // blocks)
            steps = across * down * rows * (pixels * blocks + 0.5 * (pixels + blocks) + 1)
            idle = max(1.0, profile.work_items / (across * down * rows))
            if steps * idle < best_cost:
                best, best_cost = Tile(pixels, blocks), steps * idle
    return best
