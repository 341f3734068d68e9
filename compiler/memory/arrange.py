"""Order and sharing together: what runs when decides which parts can lie within their wholes.

Two orders are tried: the one that is best while every tensor has its own memory, and the one that
is best if every part could lie within its whole. The one with the lower peak is kept; of equal ones
that with fewer copies. With the parts that do lie in their wholes then, another order may be best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..devices import Profile
from ..events import Event
from ..ir import Graph, Tensor
from .aliases import Sharing
from .lifetimes import Step
from .order import execution_order
from .views import Placed, place_parts, share

ROUNDS = 3
"""How often an order is looked for anew once parts lie within wholes."""


@dataclass(frozen=True)
class Arranged:
    """What is launched, in which order, and which tensors share memory."""

    plan: list[Step]
    sharing: Sharing
    events: tuple[Event, ...]
    """Copies saved by letting parts lie within wholes, and those that could not be."""


def arrange(
    graph: Graph,
    plan: Sequence[Step],
    sizes: Mapping[Tensor, int],
    granules: Mapping[Tensor, int],
    profile: Profile,
    gaps: bool = True,
) -> Arranged:
    """Put steps in order, and tensors into others where that saves copies.

    `sizes` has the bytes of each tensor, `granules` what its start must be a multiple of. With
    `gaps` False each tensor keeps all its bytes behind each other.
    """

    steps = {step.op: step for step in plan}

    def placed(order: Iterable[Step], limited: bool = True) -> tuple[Placed, Sharing]:
        sharing = share(graph, plan, sizes, granules)
        whole = [steps[step.op] for step in order]
        return place_parts(graph, whole, sharing, profile, gaps, limited), sharing

    def reordered(found: tuple[Placed, Sharing]) -> tuple[Placed, Sharing]:
        order = execution_order(graph, found[0].plan, found[1])
        return min(placed(order), placed(order, limited=False), key=cost)

    def cost(found: tuple[Placed, Sharing]) -> tuple[int, int]:
        return found[0].peak, found[0].launches

    best = placed(execution_order(graph, plan, share(graph, plan, sizes, granules)))
    if best[0].events:
        best = min(best, reordered(placed(plan, limited=False)), key=cost)
        for _ in range(ROUNDS):
            again = reordered(best)
            if cost(again) >= cost(best):
                break
            best = again
    chosen, sharing = best
    return Arranged(chosen.plan, sharing, chosen.events)
