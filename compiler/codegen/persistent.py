"""Persistent kernels: one launch for several consecutive dispatches.

On a processor a launch takes as long as a small layer, because the driver's threads go to sleep
between launches. In a persistent kernel, as many work-groups as there are threads take shares of
one dispatch after another from counters and wait for each other in between, like the thread pools
of CPU libraries (persistent threads: Gupta et al., InPar 2012).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from ...runtime.plan.kernels import Kernel
from ...runtime.plan.records import Argument, Dispatch, Persistent, Region
from ..language.language import OPENCL
from ..target import Target
from .generated import Kernels
from .persistent_source import COUNTERS_APART, PersistentSource, parameter_name

# Most work-items of a dispatch; their counter runs past this number without overflow.
MAX_ITEMS = 1 << 30
WORTH = 0.7  # A stretch is divided if each part has at most this share of its kernels.


def stretches(kernels: Kernels, most: int) -> Iterator[tuple[int, int]]:
    """The first dispatch of each stretch, and the one after its last.

    A stretch has two dispatches or more. Drivers compile a persistent kernel in one piece, which
    takes longer than in proportion to the kernels that it computes: one of more than `most` is
    divided. Not so where both parts would need most of its kernels, as with layers that repeat.
    """
    launches = kernels.launches
    stops = frozenset(kernels.host_steps.values())
    first = 0
    for index in range(len(launches) + 1):
        rendered = launches[index].rendered if index < len(launches) else None
        ends = rendered is None or not rendered.source.divisible or prod(rendered.grid) > MAX_ITEMS
        if ends or index in stops:
            numbers = [launch.kernel for launch in launches[first:index]]
            for start, end in divided(numbers, most):
                if end - start > 1:
                    yield first + start, first + end
            first = index + ends


def divided(kernels: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Where the parts of a stretch, given as the kernel of each dispatch, start and end.

    >>> list(divided([0, 1, 0, 1, 2, 3, 2, 3], most=2))
    [(0, 4), (4, 8)]
    >>> list(divided([0, 1, 2, 3, 0, 1, 2, 3], most=2))
    [(0, 8)]
    """
    before, after = _different(kernels), _different(kernels[::-1])[::-1]
    larger, cut = min(
        ((max(before[cut - 1], after[cut]), cut) for cut in range(1, len(kernels))), default=(0, 0)
    )
    if not kernels or before[-1] <= most or larger > WORTH * before[-1]:
        yield 0, len(kernels)
        return
    yield from divided(kernels[:cut], most)
    for start, end in divided(kernels[cut:], most):
        yield start + cut, end + cut


def _different(kernels: Iterable[int]) -> list[int]:
    """How many kernels are different up to each place."""
    seen: set[int] = set()
    return list(accumulate(_added(seen, kernel) for kernel in kernels))


def _added(seen: set[int], kernel: int) -> int:
    new = kernel not in seen
    seen.add(kernel)
    return int(new)


@dataclass(frozen=True)
class Merged:
    record: Persistent
    kernel: Kernel
    source: str


def merge(kernels: Kernels, dispatches: Sequence[Dispatch], target: Target) -> list[Merged]:
    """The persistent kernels for a plan; none if the target does not use them."""
    merged: list[Merged] = []
    most = target.device.persistent_kernels
    if target.language != OPENCL or not most:
        return merged
    for first, end in stretches(kernels, most):
        spans = _spans(dispatches[first:end])
        if len(spans) < target.device.max_arguments:
            number = len(kernels.records) + len(merged)
            name = f"persistent_{number:03}"
            text, bodies = PersistentSource(kernels, dispatches, first, end, spans, target).of(name)
            digest = hashlib.sha256(text.encode()).digest()
            file = f"kernels/{number:03}_persistent.cl"
            sources = [launch.rendered.source for launch in kernels.launches[first:end]]
            needed = (name for source in sources for name in source.device_extensions)
            kernel = Kernel(
                name,
                file,
                digest,
                (1, 1, 1),
                parameters=1 + len(spans),
                extensions=tuple(dict.fromkeys(needed)),
                bodies=bodies,
            )
            counters = (2 * (end - first) + 1) * COUNTERS_APART * 4
            arguments = tuple(spans.values())
            record = Persistent(number, first, end - first, counters, arguments)
            merged.append(Merged(record, kernel, text))
    return merged


def _spans(dispatches: Sequence[Dispatch]) -> dict[str, Argument]:
    """For each region that dispatches use, an argument from its start on, by parameter name."""
    ends: dict[tuple[Region, int], tuple[int, bool]] = {}
    for dispatch in dispatches:
        for argument in dispatch.arguments:
            key = (argument.region, argument.index)
            end, writes = ends.get(key, (0, False))
            ends[key] = (max(end, argument.offset + argument.size), writes or argument.writes)
    return {
        parameter_name(region, index): Argument(region, index, 0, *ends[region, index])
        for region, index in sorted(ends)
    }
