"""What a rewrite is and how it runs: on chains of operators, or on the graph as a whole.

A rewrite of a chain is a function under `@rewrite("A", "B")`. It gets the graph and operators A and
B where B alone reads A's output, and either changes the graph and returns None, or leaves it alone
and returns `Declined("why")`.

A rewrite of the graph is a generator under `@graph_rewrite()`. For every place it looks at it
yields an `Attempt`: the operators, and why it declines if it does. If it does not decline, it
changes the graph before it goes on.

Either way every attempt becomes an event, for `tflgpu explain`, and the graph is verified after
each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import ModelError, PassError
from ..events import Event, describe
from ..ir import Graph, Op, Origin
from ..target import Target


@dataclass(frozen=True)
class Declined:
    """The operators match, but the rewrite would be wrong or pointless here."""

    reason: str


class Attempt(NamedTuple):
    """Operators that a rewrite of the graph matched, and why it leaves them alone if it does."""

    operators: Sequence[Op]
    declined: str | None = None


@dataclass(frozen=True)
class Pass:
    """A rewrite as the pipeline runs it."""

    name: str
    run: Callable[[Graph, Target], list[Event]]
    """Rewrites a graph (PassError if that leaves it broken: a bug in tflgpu)."""
    required: bool = False
    """Whether later stages rely on it, so that it cannot be left out."""

    def __call__(self, graph: Graph, target: Target) -> list[Event]:
        return self.run(graph, target)


ChainFunction = Callable[..., Declined | None]
GraphFunction = Callable[[Graph, Target], Iterator[Attempt]]


def rewrite(
    *chain: str | Iterable[str], backwards: bool = False, required: bool = False
) -> Callable[[ChainFunction], Pass]:
    """Make a pass of a function on a chain of operators, each the only reader of the one before.

    Every element names an operator, or several to choose from. Chains are looked for along the
    order of execution, or against it with `backwards`.
    """
    links = [frozenset([link] if isinstance(link, str) else link) for link in chain]

    def decorate(function: ChainFunction) -> Pass:
        name = function.__name__

        def run(graph: Graph, target: Target) -> list[Event]:
            events = []
            for op in reversed(graph.ops) if backwards else graph.ops:
                applied = True
                while applied and (matched := _match(graph, op, links)):
                    change = _Change(graph, name, matched)
                    declined = function(graph, *matched)
                    events.append(change.event(declined.reason if declined else None))
                    applied = declined is None
                    change.settle()
            return events

        return Pass(name, run, required)

    return decorate


def graph_rewrite(*, required: bool = False) -> Callable[[GraphFunction], Pass]:
    """Make a pass of a generator of attempts."""

    def decorate(function: GraphFunction) -> Pass:
        name = function.__name__

        def run(graph: Graph, target: Target) -> list[Event]:
            events, change = [], _Change(graph, name, ())
            for operators, declined in function(graph, target):
                change.settle()
                change = _Change(graph, name, operators)
                events.append(change.event(declined))
            change.settle()
            return events

        return Pass(name, run, required)

    return decorate


def check(graph: Graph, rule: str, everything: bool = False) -> None:
    """PassError that names the rewrite if it left the graph broken."""
    try:
        graph.verify(everything)
    except ModelError as error:
        raise PassError(f"the rewrite {rule} broke the graph: {error}\n{graph}") from error


class _Change:
    """What a rewrite does to the operators it matched."""

    def __init__(self, graph: Graph, rule: str, operators: Sequence[Op]) -> None:
        self._graph, self._rule, self._operators = graph, rule, tuple(operators)
        self._names = tuple(map(describe, operators))
        graph.take_added()

    def event(self, declined: str | None) -> Event:
        return Event(self._rule, self._names, declined)

    def settle(self) -> None:
        """Verify the graph, and let what took the operators' place keep their origins."""
        check(self._graph, self._rule)
        added = [op for op in self._graph.take_added() if op in self._graph]
        origins = _united(self._operators)
        for op in added:
            op.origins = op.origins or origins
        gone = [op for op in self._operators if op not in self._graph]
        if not added:
            for op in self._operators:
                if op in self._graph:
                    op.origins = _united((op, *gone))


def _united(ops: Iterable[Op]) -> tuple[Origin, ...]:
    return tuple(sorted({origin for op in ops for origin in op.origins}))


def _match(graph: Graph, op: Op, links: Sequence[frozenset[str]]) -> list[Op] | None:
    if op not in graph or op.name not in links[0]:
        return None
    matched = [op]
    for wanted in links[1:]:
        if len(matched[-1].outputs) != 1 or matched[-1].epilogue:
            return None
        reader = graph.only_reader(matched[-1].output)
        if reader is None or reader.name not in wanted:
            return None
        matched.append(reader)
    return matched
