"""The order of execution and the aliases, which depend on each other.

A view may only replace a copy if that does not raise the peak of live memory, which depends on the
order. Two orders are tried: the best if every tensor has its own memory, and the best if every copy
is replaced by a view. The result with the lower peak is kept, then that with fewer launches. The
views found may in turn make another order better, so this is repeated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...runtime.plan.storage import WORD
from ..events import Event
from ..ops.base.storage import SLICED, slice_bytes, stored_bytes
from ..sizing.sizes import Sized, SizedOp
from .aliases import Aliases, alias
from .order import execution_order
from .views import Placed, place_views

ROUNDS = 3  # Most times that the order is searched again for the views found.


@dataclass(frozen=True)
class Arrangement:
    """The operators in the order of execution, and which tensors share memory."""

    sized: Sized
    order: Sequence[SizedOp]  # Without the launches that views replace.
    aliases: Aliases
    events: tuple[Event, ...]  # Copies replaced by views, and copies that remain.


def arrange(sized: Sized, gaps: bool) -> Arrangement:
    """Choose the order, and replace copies by views; without `gaps` tensors stay contiguous."""
    graph, target = sized.selected.graph, sized.selected.target
    operators, storages = sized.operators, sized.selected.storages
    sizes = {t: stored_bytes(t, storage, target) for t, storage in storages.items()}
    # Kernels index whole slices, or in GLSL whole words, so a tensor must start at one.
    granules = {t: slice_bytes(t, target) if s == SLICED else WORD for t, s in storages.items()}
    by_op = {item.op: item for item in operators}

    def placed(order: Iterable[SizedOp], limited: bool = True) -> tuple[Placed, Aliases]:
        aliases = alias(graph, operators, sizes, granules)
        whole = [by_op[item.op] for item in order]
        return place_views(graph, whole, aliases, target, gaps, limited), aliases

    def reordered(found: tuple[Placed, Aliases]) -> tuple[Placed, Aliases]:
        order = execution_order(graph, found[0].order, found[1])
        return min(placed(order), placed(order, limited=False), key=cost)

    def cost(found: tuple[Placed, Aliases]) -> tuple[int, int]:
        return found[0].peak, found[0].launches

    aliases = alias(graph, operators, sizes, granules)
    best = placed(execution_order(graph, operators, aliases))
    if best[0].events:
        best = min(best, reordered(placed(operators, limited=False)), key=cost)
        for _ in range(ROUNDS):
            again = reordered(best)
            if cost(again) >= cost(best):
                break
            best = again
    chosen, aliases = best
    return Arrangement(sized, chosen.order, aliases, chosen.events)
