"""Operators whose results nobody reads go away."""

from __future__ import annotations

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph
from ..rewrite import check


def drop_dead(graph: Graph, profile: Profile) -> list[Event]:
    """Walk backwards, so that what feeds only dead operators dies with them."""
    events = []
    for op in reversed(graph.ops):
        if not any(graph.consumers(t) or graph.is_output(t) for t in op.outputs):
            events.append(Event("drop_dead", (describe(op),), None))
            graph.remove(op)
    check(graph, "drop_dead", everything=True)
    return events
