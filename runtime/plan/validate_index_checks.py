"""Whether the indices that a plan says can be checked lie where it says."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from .limits import check_argument, check_shape
from .records import IndexCheck, Plan
from .storage import WORD


def check_index_checks(plan: Plan) -> Iterator[str]:
    previous = 0
    for check in plan.index_checks:
        name = f"the indices {check.tensor} of {check.operator}"
        if not previous <= check.dispatch < len(plan.dispatches):
            count = len(plan.dispatches)
            yield f"{name} are checked before dispatch {check.dispatch} of {count}, out of order"
        previous = check.dispatch
        shaped = list(check_shape(name, check.shape, "int32"))
        yield from shaped
        yield from check_argument(plan, check.place, name)
        if not shaped:
            yield from _layout(check, name)


def _layout(check: IndexCheck, name: str) -> Iterator[str]:
    """Whether the runs of bytes and the limits fit the shape."""
    size, length, pitch = prod(check.shape) * WORD, check.length, check.pitch
    runs = size // max(length, 1)
    fits = runs * length == size and length % WORD == 0 and pitch % WORD == 0
    if size and not (fits and length <= pitch and (runs - 1) * pitch + length <= check.place.size):
        yield f"{name} of shape {list(check.shape)} do not fit in {check.place.size} bytes"
    entries = check.shape[-1] if check.shape else 1
    if len(check.limits) not in (1, entries):
        yield f"{name} of shape {list(check.shape)} have {len(check.limits)} limits"
