"""Persistent kernels: one launch for several consecutive dispatches.

On a processor a launch takes as long as a small layer, because the driver's threads go to sleep
between launches. In a persistent kernel, as many work-groups as there are threads take shares of
one dispatch after another from counters and wait for each other in between, like the thread pools
of CPU libraries (persistent threads: Gupta et al., InPar 2012).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ...runtime.plan.kernels import Kernel
from ...runtime.plan.records import Argument, Dispatch, Persistent, Region
from ..language import OPENCL
from ..target import Target
from .generate import Kernels
from .persistent_source import COUNTERS_APART, PersistentSource, parameter_name
from .stretches import stretches


@dataclass(frozen=True)
class Merged:
    """A persistent kernel with its source."""

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
