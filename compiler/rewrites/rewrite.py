"""What a rewrite is and how it runs: on chains of operators, or on the whole graph.

A rewrite of chains is a function decorated with `@rewrite("A", "B")`. It is called with the graph
and operators A and B such that B is the only reader of A's output. It either changes the graph and
returns None, or leaves it alone and returns why.

A rewrite of the whole graph is a generator decorated with `@graph_rewrite()`. For each match it
yields an `Attempt`: the operators and, if it declines, the reason. Otherwise, which is what `yield`
returns, it changes the graph before it continues.

Every attempt becomes an event for `tflgpu explain`, and the graph is verified after each change.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from ...runtime.errors import TflgpuError
from ..errors import ModelError, PassError
from ..events import Event, describe
from ..ir import Graph, Op, Origin, Tensor
from ..target import Target

# The reason for which a rewrite leaves alone weights that are `tied`.
LOOKED_UP = "lookups read its weights, too"


def also_used(tensor: Tensor) -> str:
    """The reason for which a rewrite leaves alone what computes a tensor."""
    return f"{tensor.name} is also used elsewhere"


class Attempt(NamedTuple):
    """Operators that a rewrite matched and, if it leaves them alone, the reason."""

    operators: Sequence[Op]
    declined: str | None = None


# A rewrite of a whole graph, which learns of each attempt whether to change the graph.
Attempts = Generator[Attempt, bool | None, None]


@dataclass(frozen=True)
class Pass:
    """A rewrite as the pipeline runs it."""

    name: str
    # Rewrites a graph in place (PassError if the result is invalid: a bug in tflgpu).
    run: Callable[[Graph, Target], list[Event]]
    required: bool = False  # Whether later stages rely on it, so that it cannot be disabled.

    def __call__(self, graph: Graph, target: Target) -> list[Event]:
        return self.run(graph, target)


# Why a rewrite would be wrong or pointless for operators that match; None if it was applied.
ChainFunction = Callable[..., str | None]
GraphFunction = Callable[[Graph, Target], Attempts]


def rewrite(
    *chain: str | Iterable[str], backwards: bool = False
) -> Callable[[ChainFunction], Pass]:
    """Decorate a function on a chain of operators, each the only reader of the one before.

    Each element of `chain` is an operator's name, or several alternatives. Chains are matched in
    the order of execution, or in reverse with `backwards`.
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
                    events.append(change.event(declined))
                    applied = declined is None
                    change.settle()
            return events

        return Pass(name, run)

    return decorate


def graph_rewrite(*, required: bool = False) -> Callable[[GraphFunction], Pass]:
    """Decorate a generator of attempts."""

    def decorate(function: GraphFunction) -> Pass:
        name = function.__name__

        def run(graph: Graph, target: Target) -> list[Event]:
            events, change = [], _Change(graph, name, ())
            attempts, applied = function(graph, target), None
            with suppress(StopIteration):
                while True:
                    operators, declined = attempts.send(applied)
                    change.settle()
                    change, applied = _Change(graph, name, operators), declined is None
                    events.append(change.event(declined))
            change.settle()
            return events

        return Pass(name, run, required)

    return decorate


@contextmanager
def invalid_operator(op: Op) -> Iterator[None]:
    """What operands or options raise that no formula expects becomes a ModelError that names `op`.

    The values in a file are checked where they matter, but not every combination of them.
    """
    try:
        yield
    except TflgpuError:
        raise
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        raise ModelError(f"operator {op!r} has invalid operands or options: {error}") from error


def check(graph: Graph, name: str, everything: bool = False) -> None:
    """PassError, which names the rewrite, if the graph is invalid."""
    try:
        graph.verify(everything)
    except ModelError as error:
        raise PassError(f"the rewrite {name} broke the graph: {error}\n{graph}") from error


class _Change:
    """One attempt of a rewrite: its event, and the bookkeeping after the change."""

    def __init__(self, graph: Graph, name: str, operators: Sequence[Op]) -> None:
        self._graph, self._name, self._operators = graph, name, tuple(operators)
        self._names = tuple(map(describe, operators))
        graph.take_added()

    def event(self, declined: str | None) -> Event:
        return Event(self._name, self._names, declined)

    def settle(self) -> None:
        """Verify the graph, and pass on the origins of the operators that were replaced."""
        check(self._graph, self._name)
        added = [op for op in self._graph.take_added() if op in self._graph]
        # Uniting origins takes time in proportion to them, so it is done only where it matters.
        new = [op for op in added if not op.origins]
        if new:
            origins = _united(self._operators)
            for op in new:
                op.origins = origins
        gone = [op for op in self._operators if op not in self._graph]
        if gone and not added:
            for op in self._operators:
                if op in self._graph:
                    op.origins = _united((op, *gone))


def _united(ops: Iterable[Op]) -> tuple[Origin, ...]:
    found = dict.fromkeys(origin for op in ops for origin in op.origins)
    return tuple(sorted(found, key=attrgetter("index", "name")))


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
