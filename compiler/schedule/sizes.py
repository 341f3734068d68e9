"""The tile and work-groups of each launch: tuned ones where there are such, else the device's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..ir import Graph, Op
from ..ops import Implementation
from ..ops.base import Launch, TileShape, WorkGroup
from ..target import Target
from .work_groups import choose_group, explain_group


@dataclass(frozen=True)
class Sizes:
    """What can be tuned about an operator's kernels."""

    tile: TileShape | None
    """Pixels and slices of a work-item; None where the kernel has no tile."""
    groups: tuple[WorkGroup, ...]
    """The work-group of each of its launches."""


class Sizing:
    """Asked for the sizes of operators' kernels; by itself it leaves them to the profile."""

    def __init__(self) -> None:
        self.used: dict[str, Sizes] = {}
        """The sizes that were given, by what was asked for."""

    def __call__(self, op: Op, implementation: Implementation) -> Sizes | None:
        """The sizes that an operator's kernels are to have; None for those of the profile."""
        return None


@dataclass(frozen=True)
class ScheduledOp:
    """An operator with its implementation and what it launches, in the order of execution."""

    op: Op
    implementation: Implementation
    launches: tuple[Launch, ...]


def schedule(
    graph: Graph,
    choice: Mapping[Op, Implementation],
    target: Target,
    sizing: Sizing | None = None,
) -> list[ScheduledOp]:
    """Every operator with its launches, in an order in which they can run."""
    sizing = sizing or Sizing()
    scheduled = []
    for op in graph.ops:
        implementation = choice[op]
        launches = sized_launches(op, implementation, target, sizing(op, implementation))
        scheduled.append(ScheduledOp(op, implementation, launches))
    return scheduled


def build_launches(
    op: Op, implementation: Implementation, target: Target, tile: TileShape | None
) -> list[Launch]:
    """What an operator launches; launches without work-items have nothing to do."""
    built = implementation.launches(op, target, tile)
    return [launch for launch in built if all(launch.grid)]


def sized_launches(
    op: Op, implementation: Implementation, target: Target, sizes: Sizes | None
) -> tuple[Launch, ...]:
    """What an operator launches, each launch with its work-group and a text that says why."""
    tile = sizes.tile if sizes else None
    launches = build_launches(op, implementation, target, tile)
    groups = sizes.groups if sizes and _fit(sizes.groups, launches, target) else None
    return tuple(
        _sized(launch, target, tile, groups[index] if groups else None)
        for index, launch in enumerate(launches)
    )


def _fit(groups: Sequence[WorkGroup], launches: Sequence[Launch], target: Target) -> bool:
    """Whether work-groups from a table, which may be of another device, can be those launches'."""
    small = all(prod(group) <= target.device.max_group for group in groups)
    return small and len(groups) == len(launches)


def _sized(
    launch: Launch, target: Target, tile: TileShape | None, tuned: WorkGroup | None
) -> Launch:
    chosen = tuned is None or launch.group is not None
    reason = explain_group(launch, target) if chosen else "tuned"
    group = launch.group or tuned or choose_group(launch, target)
    why = [*_explain_tile(launch, tile), f"group: {reason}"]
    return replace(launch, group=group, why="; ".join(why))


def _explain_tile(launch: Launch, tuned: TileShape | None) -> Sequence[str]:
    tile = launch.tile
    if tile is None:
        return []
    reason = "tuned" if (tile.pixels, tile.slices) == tuned else "least estimate"
    return [f"tile {tile.pixels} x {tile.slices}: {reason}, {tile.accumulators} accumulators"]
