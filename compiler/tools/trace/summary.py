"""The time of each operator type: which share of a run it takes, and how often it is launched."""

from collections.abc import Iterable
from dataclasses import dataclass

from .events import Event

# The beginning of the names of operators that rewrites make; they go with those beside them.
OWN = "tflgpu."

FEW = 4  # Operators of a combination that are named.


@dataclass(frozen=True)
class TypeTime:
    """The launches of one operator type, or of one combination that a kernel computes."""

    operators: str  # Such as CONV_2D + ADD.
    place: str  # device or LiteRT.
    count: int
    seconds: float
    share: float  # Of the time of all kernels and parts.


def by_type(timed: Iterable[tuple[str, str, float]]) -> list[TypeTime]:
    """The time by operator type, the longest first, of (place, label, seconds) of each launch."""
    groups: dict[tuple[str, str], list[float]] = {}
    for place, label, seconds in timed:
        groups.setdefault((_operators(label), place), []).append(seconds)
    total = sum(map(sum, groups.values())) or 1.0
    rows = [
        TypeTime(operators, place, len(times), sum(times), sum(times) / total)
        for (operators, place), times in groups.items()
    ]
    return sorted(rows, key=lambda row: -row.seconds)


def timed(events: Iterable[Event]) -> Iterable[tuple[str, str, float]]:
    """(place, label, seconds) of the kernels and parts in a trace."""
    for event in events:
        if event.track in ("device", "LiteRT"):
            yield event.track, event.name, event.seconds


def _operators(label: str) -> str:
    """The operators of a dispatch's label, without the tensor that it computes."""
    names = label.partition(" -> ")[0].split(" + ")
    named = [name for name in names if not name.startswith(OWN)] or names
    more = [f"{len(named) - FEW} more"] if len(named) > FEW + 1 else named[FEW:]
    return " + ".join([*named[:FEW], *more])
