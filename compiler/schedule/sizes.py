"""The tile and work-groups of each launch: tuned ones where there are such, else the profile's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ..devices import Profile
from ..ir import Op
from ..ops import Kernel
from ..ops.base import Launch
from .tuning_table import Sizes
from .work_groups import Group, choose_group, explain_group


def build_launches(
    op: Op, kernel: Kernel, profile: Profile, tile: tuple[int, int] | None
) -> list[Launch]:
    """What an operator launches; launches without work-items have nothing to do."""
    built = kernel.build(op, replace(profile, tile=tile))
    return [launch for launch in built if all(launch.grid)]


def sized_launches(
    op: Op, kernel: Kernel, profile: Profile, sizes: Sizes | None
) -> tuple[Launch, ...]:
    """What an operator launches, each launch with its work-group and a text that says why."""
    tile = sizes.tile if sizes else None
    launches = build_launches(op, kernel, profile, tile)
    groups = sizes.groups if sizes and _fit(sizes.groups, launches, profile) else None
    return tuple(
        _sized(launch, profile, tile, groups[index] if groups else None)
        for index, launch in enumerate(launches)
    )


def _fit(groups: Sequence[Group], launches: Sequence[Launch], profile: Profile) -> bool:
    """Whether work-groups from a table, which may be of another device, can be those launches'."""
    small = all(prod(group) <= profile.max_group for group in groups)
    return small and len(groups) == len(launches)


def _sized(
    launch: Launch,
    profile: Profile,
    tile: tuple[int, int] | None,
    tuned: tuple[int, int, int] | None,
) -> Launch:
    chosen = tuned is None or launch.group is not None
    reason = explain_group(launch, profile) if chosen else "tuned"
    group = launch.group or tuned or choose_group(launch, profile)
    parts = _explain_tile(launch, tile)
    return replace(launch, group=group, why="; ".join([*parts, f"group: {reason}"]))


def _explain_tile(launch: Launch, tuned: tuple[int, int] | None) -> Sequence[str]:
    tile = launch.tile
    if tile is None:
        return []
    pixels, blocks = tile.pixels, tile.blocks
    reason = "tuned" if (pixels, blocks) == tuned else "least estimate"
    return [f"tile {pixels} x {blocks}: {reason}, {tile.accumulators} accumulators"]
