"""Two variants of a model compared by what they consist of, or by their times.

Their kernels may compute different operators.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ...runtime.cache.variant import Variant
from ...runtime.plan.records import Dispatch, HostPart, Plan
from ..ir.connected import components
from .profile import Profile, Time


class Computing(Protocol):
    """A kernel or part, with the indices in the model file of the operators it computes."""

    @property
    def operators(self) -> Sequence[int]: ...


Item = TypeVar("Item", bound=Computing)
ADDED = (-1,)  # Stands for the operators of what the compiler added, which is one group.


@dataclass(frozen=True)
class Group(Generic[Item]):
    """The fewest items of both sides that compute the same operators."""

    operators: tuple[int, ...]  # In ascending order; none for items that the compiler added.
    now: list[tuple[int, Item]]  # With their positions.
    before: list[tuple[int, Item]]


def grouped(now: Sequence[Item], before: Sequence[Item]) -> Iterator[Group[Item]]:
    """The groups of two sides. If one fuses what the other does not, these form one group."""
    items = (*now, *before)
    computing: defaultdict[int, list[int]] = defaultdict(list)  # Numbers of items, by operator.
    for number, item in enumerate(items):
        for operator in item.operators or ADDED:
            computing[operator].append(number)

    def near(number: int) -> list[int]:
        operators = items[number].operators or ADDED
        return [other for operator in operators for other in computing[operator]]

    for group in components(range(len(items)), near):
        covered = {operator for number in group for operator in items[number].operators}
        mine = [(number, items[number]) for number in sorted(group) if number < len(now)]
        theirs = [(n - len(now), items[n]) for n in sorted(group) if n >= len(now)]
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


Step = Dispatch | HostPart


@dataclass(frozen=True)
class Change:
    """The fewest kernels and parts of both variants that compute the same operators."""

    # Indices in the model file; none for kernels that the compiler added.
    operators: tuple[int, ...]
    # What they compute in the variant of the report, or else in the other one.
    labels: tuple[str, ...]
    state: str  # "same", "changed", "added" or "removed".
    count_before: int  # Kernels and parts.
    count_now: int
    bytes_before: int  # Read and written by the kernels.
    bytes_now: int
    dispatches: tuple[int, ...]  # The kernels of the report's variant, by dispatch.


@dataclass(frozen=True)
class Figure:
    title: str
    before: int
    now: int
    is_bytes: bool = False


def changes(now: Variant, before: Variant) -> list[Change]:
    """What computes the model's operators in both variants (PlanError if one is damaged)."""
    found = []
    for group in grouped(_steps(now.plan), _steps(before.plan)):
        mine, theirs = ([step for _, step in side] for side in (group.now, group.before))
        same = _texts(now, mine) == _texts(before, theirs)
        state = "same" if same else "added" if not theirs else "changed" if mine else "removed"
        count = len(now.plan.dispatches)
        found.append(
            Change(
                group.operators,
                tuple(step.label for step in mine or theirs),
                state,
                len(theirs),
                len(mine),
                _bytes(theirs),
                _bytes(mine),
                tuple(index for index, _ in group.now if index < count),
            )
        )
    return found


def figures(now: Plan, before: Plan) -> list[Figure]:

    def figure(title: str, of: Callable[[Plan], int], is_bytes: bool = False) -> Figure:
        return Figure(title, of(before), of(now), is_bytes)

    return [
        figure("launches", lambda plan: plan.launches),
        figure("kernels", lambda plan: len(plan.kernels)),
        figure("parts on the host", lambda plan: len(plan.parts)),
        figure("bytes moved", lambda plan: _bytes(plan.dispatches), is_bytes=True),
        figure("arena", lambda plan: plan.arena_size, is_bytes=True),
        figure("weights", lambda plan: plan.weights_size, is_bytes=True),
    ]


def _steps(plan: Plan) -> list[Step]:
    return [*plan.dispatches, *plan.parts]


def _bytes(steps: Sequence[Step]) -> int:
    kernels = (step for step in steps if isinstance(step, Dispatch))
    return sum(argument.size for kernel in kernels for argument in kernel.arguments)


def _texts(variant: Variant, steps: Sequence[Step]) -> list[tuple[object, ...]]:
    """What steps execute; kernels without their names, which have numbers in them."""
    found: list[tuple[object, ...]] = []
    for step in steps:
        if isinstance(step, HostPart):
            found.append((step.label,))
        else:
            kernel = variant.plan.kernels[step.kernel]
            text = variant.sources[kernel.file].replace(kernel.name, "kernel")
            found.append((text, step.grid, kernel.group))
    return found
