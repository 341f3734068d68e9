"""Two profiles of a model compared, although their kernels may compute different operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .profile import Profile, Time


@dataclass(frozen=True)
class Compared:
    """The fewest kernels of both profiles that compute the same operators."""

    operators: tuple[int, ...]
    """Indices in the model file; none for kernels that the compiler added."""
    labels: tuple[str, ...]
    """What they compute in the profile of the report."""
    before_ms: float
    """In the profile compared with."""
    now_ms: float
    dispatches: tuple[int, ...]
    """The kernels of the report's profile, by dispatch; parts on the host are not listed."""


def compare(now: Profile, before: Profile) -> list[Compared]:
    """The times of both profiles, grouped so that both sides compute the same operators.

    If one profile fuses two operators and the other does not, these kernels form one group.
    """
    times = [*now.kernels, *now.parts]
    earlier = [*before.kernels, *before.parts]
    groups = _Groups()
    for time in (*times, *earlier):
        groups.join(time.operators)
    found = []
    for root in dict.fromkeys(groups.root(time) for time in (*times, *earlier)):
        mine = [(i, time) for i, time in enumerate(times) if groups.root(time) == root]
        theirs = [time for time in earlier if groups.root(time) == root]
        covered = {index for _, time in mine for index in time.operators}
        covered |= {index for time in theirs for index in time.operators}
        found.append(
            Compared(
                tuple(sorted(covered)),
                tuple(time.label for _, time in mine) or tuple(time.label for time in theirs),
                _total(theirs),
                _total([time for _, time in mine]),
                tuple(index for index, _ in mine if index < len(now.kernels)),
            )
        )
    return found


def _total(times: Sequence[Time]) -> float:
    return sum(time.ms for time in times)


class _Groups:
    """Disjoint sets of operators."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def join(self, operators: Sequence[int]) -> None:
        """Put operators into one set."""
        for operator in operators:
            self._parent.setdefault(operator, operator)
            self._parent[self._find(operator)] = self._find(operators[0])

    def root(self, time: Time) -> int:
        """The operator that stands for the set a time belongs to; -1 if it has none."""
        return self._find(time.operators[0]) if time.operators else -1

    def _find(self, operator: int) -> int:
        while self._parent[operator] != operator:
            self._parent[operator] = self._parent[self._parent[operator]]
            operator = self._parent[operator]
        return operator
