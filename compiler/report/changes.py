"""Two variants of a model compared by what they consist of, without times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...runtime.cache.variant import Variant
from ...runtime.plan.records import Dispatch, HostPart, Plan
from .comparison import grouped

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
