"""What a rewrite is, and how it is run: on chains of operators, one after the other.

A rewrite is a function under `@rewrite("A", "B")`. It gets the graph and operators A and B where
B alone reads A's output, and either changes the graph and returns None, or leaves it alone and
returns `Declined("why")`. Either way an event is kept, for `tflgpu explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..devices import Profile
from ..errors import ModelError, PassError
from ..events import Event, describe
from ..ir import Graph, Op


@dataclass(frozen=True)
class Declined:
    """The operators match, but the rewrite would be wrong or pointless here."""

    reason: str


Pass = Callable[[Graph, Profile], list[Event]]
Body = Callable[..., Declined | None]


def rewrite(*chain: str | Iterable[str], backwards: bool = False) -> Callable[[Body], Pass]:
    """Make a pass of a function on a chain of operators, each the only reader of the one before.

    Every element names an operator, or several to choose from. Chains are looked for along the
    order of execution, or against it with `backwards`.
    """
    names = [frozenset([link] if isinstance(link, str) else link) for link in chain]

    def decorate(body: Body) -> Pass:
        rule = body.__name__

        def run(graph: Graph, profile: Profile) -> list[Event]:
            events = []
            for op in reversed(graph.ops) if backwards else graph.ops:
                applied = True
                while applied and (matched := _match(graph, op, names)):
                    operators = tuple(describe(link) for link in matched)
                    declined = body(graph, *matched)
                    events.append(Event(rule, operators, declined.reason if declined else None))
                    applied = declined is None
                    check(graph, rule)
            return events

        run.__name__ = rule
        run.__doc__ = body.__doc__
        run.__module__ = body.__module__
        return run

    return decorate


def check(graph: Graph, rule: str, everything: bool = False) -> None:
    """PassError that names the rewrite if it left the graph broken."""
    try:
        graph.verify(everything)
    except ModelError as error:
        raise PassError(f"the rewrite {rule} broke the graph: {error}\n{graph}") from error


def _match(graph: Graph, op: Op, names: Sequence[frozenset[str]]) -> list[Op] | None:
    if op not in graph or op.name not in names[0]:
        return None
    matched = [op]
    for wanted in names[1:]:
        if len(matched[-1].outputs) != 1 or matched[-1].post:
            return None
        reader = graph.only_reader(matched[-1].output)
        if reader is None or reader.name not in wanted:
            return None
        matched.append(reader)
    return matched
