"""Persistent kernels: one launch for several consecutive dispatches.

On a processor a launch takes as long as a small layer, because the driver's threads go to sleep
between launches. In a persistent kernel, as many work-groups as there are threads take shares of
one dispatch after another from counters and wait for each other in between, like the thread pools
of CPU libraries (persistent threads: Gupta et al., InPar 2012).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...runtime.plan.kernels import Body, Kernel
from ...runtime.plan.records import Argument, Dispatch, Persistent, Region
from ..language import OPENCL
from ..target import Target
from .bodies import fill
from .environment import environment
from .generate import GeneratedLaunch, Kernels
from .intrinsics import defined, definitions
from .kernel_source import KernelSource

COUNTERS_APART = 16
"""Integers from one counter to the next, so that no two share a cache line."""
SHARES = 4
"""Shares per work-group into which the rest of a dispatch is divided."""
MAX_ITEMS = 1 << 30
"""Most work-items of a dispatch; their counter runs past this number without overflow."""


@dataclass(frozen=True)
class Merged:
    """A persistent kernel with its source."""

    record: Persistent
    kernel: Kernel
    source: str


@dataclass(frozen=True)
class _Step:
    """A dispatch within a persistent kernel, as the template needs it."""

    title: str
    items: int
    """Units to compute, work-items or work-groups."""
    call: str
    """The call that computes one unit."""


def merge(kernels: Kernels, dispatches: Sequence[Dispatch], target: Target) -> list[Merged]:
    """The persistent kernels for a plan; none if the target does not use them."""
    merged: list[Merged] = []
    if target.language != OPENCL:
        return merged
    stretches = list(_stretches(kernels, target.device.persistent_dispatches))
    for first, end in stretches:
        spans = _spans(dispatches[first:end])
        if len(spans) < target.device.max_arguments:
            number = len(kernels.records) + len(merged)
            name = f"persistent_{number:03}"
            text, bodies = _Text(kernels, dispatches, first, end, spans, target).of(name)
            digest = hashlib.sha256(text.encode()).digest()
            file = f"kernels/{number:03}_persistent.cl"
            sources = [launch.rendered.source for launch in kernels.launches[first:end]]
            needed = (name for source in sources for name in source.device_extensions)
            kernel = Kernel(
                *(name, file, digest, (1, 1, 1)),
                parameters=1 + len(spans),
                extensions=tuple(dict.fromkeys(needed)),
                bodies=bodies,
            )
            counters = (2 * (end - first) + 1) * COUNTERS_APART * 4
            arguments = tuple(spans.values())
            record = Persistent(number, first, end - first, counters, arguments)
            merged.append(Merged(record, kernel, text))
    return merged


def _stretches(kernels: Kernels, longest: int) -> Iterator[tuple[int, int]]:
    """First and end of each run of two or more launches that one persistent kernel can compute."""
    launches = kernels.launches
    stops = frozenset(kernels.host_steps.values())
    first = 0
    for index in range(len(launches) + 1):
        ends = index == len(launches) or not _divisible(launches[index])
        if ends or index in stops or index - first >= longest:
            if index - first > 1:
                yield first, index
            first = index + ends


def _divisible(launch: GeneratedLaunch) -> bool:
    return launch.rendered.source.divisible and prod(launch.rendered.grid) <= MAX_ITEMS


def _spans(dispatches: Sequence[Dispatch]) -> dict[str, Argument]:
    """For each region that dispatches use, an argument from its start on, by parameter name."""
    ends: dict[tuple[Region, int], tuple[int, bool]] = {}
    for dispatch in dispatches:
        for argument in dispatch.arguments:
            key = (argument.region, argument.index)
            end, writes = ends.get(key, (0, False))
            ends[key] = (max(end, argument.offset + argument.size), writes or argument.writes)
    return {
        _parameter(region, index): Argument(region, index, 0, *ends[region, index])
        for region, index in sorted(ends)
    }


def _parameter(region: Region, index: int) -> str:
    name = region.name.lower()
    return name if region in (Region.ARENA, Region.WEIGHTS) else f"{name}_{index}"


@dataclass(frozen=True)
class _Text:
    """Renders one persistent kernel, of the dispatches from `first` up to `end`."""

    kernels: Kernels
    dispatches: Sequence[Dispatch]
    first: int
    end: int
    spans: Mapping[str, Argument]
    target: Target

    def of(self, name: str) -> tuple[str, tuple[Body, ...]]:
        """The kernel's file, and where the bodies of the kernels that it computes lie in it."""
        functions: dict[KernelSource, str] = {}
        bodies: list[tuple[int, str]] = []
        used: set[str] = set()
        steps = []
        for index in range(self.first, self.end):
            launch = self.kernels.launches[index]
            source = launch.rendered.source
            # All files may become one program, in which every function needs a distinct name.
            function = f"{name}_{self.kernels.records[launch.kernel].name}"
            if source not in functions:
                functions[source] = source.functions(function)
                bodies.append((launch.kernel, source.indented))
                used |= source.intrinsics
            units, call = self._call(index, function)
            steps.append(_Step(f"dispatch {index}: {launch.title}", units, call))
        template = environment().get_template("dialects/persistent.jinja")
        frame = template.render(
            name=name,
            comment=self._comment(name),
            definitions=definitions(used, OPENCL, self.target.lanes, name),
            macros=[entry.name for entry in defined(used, OPENCL)],
            half=any(source.half for source in functions),
            functions=list(functions.values()),
            steps=steps,
            regions=[(region, span.writes) for region, span in self.spans.items()],
            apart=COUNTERS_APART,
            shares=SHARES,
            bits=32 * self.target.lanes,
        )
        return fill(frame, bodies)

    def _comment(self, name: str) -> str:
        lines = (
            f"{name}: dispatches {self.first} to {self.end - 1} in one launch",
            "counters: of each dispatch, how many work-items are taken and how many are done; of",
            "  groups, how many have left; all 0 before and after",
            f"{', '.join(self.spans)}: bytes, in which each dispatch has its own",
            "grid of as many groups of 1 x 1 x 1 as the device runs at once",
        )
        return "\n".join(f"// {line}" for line in lines)

    def _call(self, index: int, function: str) -> tuple[int, str]:
        """The number of units of a dispatch, work-items or groups, and the call for one unit."""
        dispatch, source = self.dispatches[index], self.kernels.launches[index].rendered.source
        units = tuple(size // part for size, part in zip(dispatch.grid, source.group, strict=True))
        numbers = [_number(axis, units) for axis, _ in source.axes]
        pointers = [
            f"part({_parameter(argument.region, argument.index)}, {argument.offset}, "
            f"{'' if argument.writes else 'const '}{parameter.element})"
            for argument, parameter in zip(dispatch.arguments, source.parameters, strict=True)
        ]
        unit = "item" if source.alone else "group"
        return prod(units), f"{function}_{unit}({', '.join([*numbers, *pointers])})"


def _number(axis: int, units: tuple[int, ...]) -> str:
    """The index along an axis of the unit with the flat index `item`."""
    step = prod(units[:axis])
    if units[axis] == 1:
        return "0"
    text = "item" if step == 1 else f"item / {step}"
    return text if step * units[axis] == prod(units) else f"{text} % {units[axis]}"
