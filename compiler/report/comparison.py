"""Two sides of a model compared, although their kernels may compute different operators."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .profile import Profile, Time


class Computing(Protocol):
    """A kernel or part, with the indices in the model file of the operators it computes."""

    @property
    def operators(self) -> Sequence[int]: ...


Item = TypeVar("Item", bound=Computing)


@dataclass(frozen=True)
class Group(Generic[Item]):
    """The fewest items of both sides that compute the same operators."""

    operators: tuple[int, ...]  # In ascending order; none for items that the compiler added.
    now: list[tuple[int, Item]]  # With their positions.
    before: list[tuple[int, Item]]


def grouped(now: Sequence[Item], before: Sequence[Item]) -> Iterator[Group[Item]]:
    """The groups of two sides. If one fuses what the other does not, these form one group."""
    sets = _Sets()
    for item in (*now, *before):
        sets.join(item.operators)
    sides: dict[int, tuple[list[tuple[int, Item]], list[tuple[int, Item]]]] = {}
    for side, items in enumerate((now, before)):
        for position, item in enumerate(items):
            both = sides.setdefault(sets.root(item.operators), ([], []))
            both[side].append((position, item))
    for mine, theirs in sides.values():
        covered = {index for _, item in (*mine, *theirs) for index in item.operators}
        yield Group(tuple(sorted(covered)), mine, theirs)


@dataclass(frozen=True)
class Compared:
    """The fewest kernels of both profiles that compute the same operators."""

    # Indices in the model file; none for kernels that the compiler added.
    operators: tuple[int, ...]
    labels: tuple[str, ...]  # What they compute in the profile of the report.
    before_ms: float  # In the profile compared with.
    now_ms: float
    # The kernels of the report's profile, by dispatch; parts on the host are not listed.
    dispatches: tuple[int, ...]


def compare(now: Profile, before: Profile) -> list[Compared]:
    """The times of both profiles, grouped so that both sides compute the same operators."""
    return [
        Compared(
            group.operators,
            tuple(time.label for _, time in group.now or group.before),
            _total(group.before),
            _total(group.now),
            tuple(index for index, _ in group.now if index < len(now.kernels)),
        )
        for group in grouped([*now.kernels, *now.fallback], [*before.kernels, *before.fallback])
    ]


def _total(times: Sequence[tuple[int, Time]]) -> float:
    return sum(time.whole_ms for _, time in times)


class _Sets:
    """Disjoint sets of operators."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def join(self, operators: Sequence[int]) -> None:
        for operator in operators:
            self._parent.setdefault(operator, operator)
            self._parent[self._find(operator)] = self._find(operators[0])

    def root(self, operators: Sequence[int]) -> int:
        """The operator that stands for the set of some operators; -1 if there are none."""
        return self._find(operators[0]) if operators else -1

    def _find(self, operator: int) -> int:
        while self._parent[operator] != operator:
            self._parent[operator] = self._parent[self._parent[operator]]
            operator = self._parent[operator]
        return operator
