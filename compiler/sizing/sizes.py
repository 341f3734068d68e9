"""The tile and work-groups of each launch: tuned ones if there are any, else the profile's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..errors import ModelError
from ..ir import Op
from ..ops import Implementation
from ..ops.base.launch import Launch, WorkGroup
from ..ops.base.tile import TileShape
from ..select.conversions import Selected
from ..target import Target
from .work_groups import choose_group, explain_group


@dataclass(frozen=True)
class Sizes:
    """What can be tuned about an operator's kernels."""

    tile: TileShape | None  # The tile of a work-item; None if the kernel has none.
    groups: tuple[WorkGroup, ...]


class Sizing:
    """Provides the sizes of kernels; this base class leaves them to the profile."""

    def __init__(self) -> None:
        self.used: dict[str, Sizes] = {}  # The sizes provided so far, by the kernel's signature.

    def __call__(self, op: Op, implementation: Implementation) -> Sizes | None:
        """The sizes of an operator's kernels; None to use those of the profile."""
        return None


@dataclass(frozen=True)
class SizedOp:
    op: Op
    implementation: Implementation
    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class Sized:
    """A selection with the launches of each operator."""

    selected: Selected
    operators: tuple[SizedOp, ...]  # In a valid order of execution.
    used: Mapping[str, Sizes]  # The sizes from a tuning table, by the kernel's signature.


def size_operators(selected: Selected, sizing: Sizing | None = None) -> Sized:
    """Give each operator its launches, with their tiles and work-groups."""
    sizing = sizing or Sizing()
    sized = []
    for op in selected.graph.ops:
        implementation = selected.choice[op]
        launches = sized_launches(op, implementation, selected.target, sizing(op, implementation))
        sized.append(SizedOp(op, implementation, launches))
    return Sized(selected, tuple(sized), dict(sizing.used))


def build_launches(
    op: Op, implementation: Implementation, target: Target, tile: TileShape | None
) -> list[Launch]:
    """The launches of an operator without work-groups; those with an empty grid are dropped.

    ModelError if one reads a tensor without elements, such as GATHER from an empty table.
    """
    built = implementation.launches(op, target, tile)
    launches = [launch for launch in built if all(launch.grid)]
    for launch in launches:
        for tensor in launch.reads.values():
            if not tensor.elements:
                raise ModelError(f"operator {op!r} reads {tensor.name}, which has no elements")
    return launches


def sized_launches(
    op: Op, implementation: Implementation, target: Target, sizes: Sizes | None
) -> tuple[Launch, ...]:
    """The launches of an operator, each with its work-group and the explanation of its sizes."""
    tile = sizes.tile if sizes else None
    launches = build_launches(op, implementation, target, tile)
    groups = sizes.groups if sizes and _fit(sizes.groups, launches, target) else None
    return tuple(
        _sized(launch, target, tile, groups[index] if groups else None)
        for index, launch in enumerate(launches)
    )


def _fit(groups: Sequence[WorkGroup], launches: Sequence[Launch], target: Target) -> bool:
    """Whether work-groups from a table, possibly another device's, are valid for the launches."""
    device = target.device
    small = all(
        prod(group) <= device.max_group and group[2] <= device.max_group_depth for group in groups
    )
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
    reason = "tuned" if tile.shape == tuned else "smallest estimated time"
    counted = [f"{tile.accumulators} accumulators", *filter(None, [tile.explanation])]
    return [f"tile {tile.pixels} x {tile.slices}: {reason}, {', '.join(counted)}"]
