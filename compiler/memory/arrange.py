"""The order of execution and aliases together: the order decides which tensors can be views.

Two orders are tried: the one that is best while every tensor has its own memory, and the one that
is best if every copy could be saved. The one with the lower peak is kept; of equal ones that with
fewer copies. With the views that there are then, another order may be best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..events import Event
from ..ir import Graph, Tensor
from ..ops.base import SLICED, stored_bytes
from ..schedule.sizes import ScheduledOp
from ..target import Target
from .aliases import Aliases, alias
from .order import execution_order
from .views import Placed, place_views

ROUNDS = 3
"""How often an order is looked for anew once there are views."""


@dataclass(frozen=True)
class Arrangement:
    """What is launched, in which order, and which tensors share memory."""

    order: list[ScheduledOp]
    aliases: Aliases
    events: tuple[Event, ...]
    """Copies that views save, and those that are left."""


def arrange(
    graph: Graph,
    scheduled: Sequence[ScheduledOp],
    storages: Mapping[Tensor, str],
    target: Target,
    gaps: bool = True,
) -> Arrangement:
    """Put operators in order, and tensors into others where that saves copies.

    With `gaps` False each tensor keeps all its bytes behind each other.
    """
    sizes = {t: stored_bytes(t.shape, storage, target) for t, storage in storages.items()}
    # A tensor starts at a whole slice, or at a whole element.
    granules = {t: target.slice_bytes if s == SLICED else 4 for t, s in storages.items()}
    by_op = {item.op: item for item in scheduled}

    def placed(order: Iterable[ScheduledOp], limited: bool = True) -> tuple[Placed, Aliases]:
        aliases = alias(graph, scheduled, sizes, granules)
        whole = [by_op[item.op] for item in order]
        return place_views(graph, whole, aliases, target, gaps, limited), aliases

    def reordered(found: tuple[Placed, Aliases]) -> tuple[Placed, Aliases]:
        order = execution_order(graph, found[0].order, found[1])
        return min(placed(order), placed(order, limited=False), key=cost)

    def cost(found: tuple[Placed, Aliases]) -> tuple[int, int]:
        return found[0].peak, found[0].launches

    aliases = alias(graph, scheduled, sizes, granules)
    best = placed(execution_order(graph, scheduled, aliases))
    if best[0].events:
        best = min(best, reordered(placed(scheduled, limited=False)), key=cost)
        for _ in range(ROUNDS):
            again = reordered(best)
            if cost(again) >= cost(best):
                break
            best = again
    chosen, aliases = best
    return Arrangement(chosen.order, aliases, chosen.events)
