"""The source of a persistent kernel: functions of the kernels that it computes, and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from ...runtime.plan.kernels import Body
from ...runtime.plan.records import Argument, Dispatch, Region
from ..language import OPENCL
from ..target import Target
from .bodies import fill
from .environment import environment
from .generate import Kernels
from .intrinsics import defined, definitions
from .kernel_source import KernelSource
from .rounds import Rounds

COUNTERS_APART = 16
"""Integers from one counter to the next, so that no two share a cache line."""
SHARES = 4
"""Shares per work-group into which the rest of a dispatch is divided."""
MAX_INT = (1 << 31) - 1

Offsets = tuple[int, ...]
"""Where an argument begins in each round, in bytes."""


@dataclass(frozen=True)
class _Step:
    """A dispatch within a persistent kernel, as the template needs it."""

    number: int
    """Its place in the persistent kernel; its counters follow from it."""
    title: str
    items: int
    """Units to compute, work-items or work-groups."""
    call: str
    """The call that computes one unit."""


@dataclass(frozen=True)
class _Loop:
    """What is written of rounds: the steps of the first, and what differs in the others."""

    rounds: Rounds
    table: str
    """Name of the array with `columns`."""
    steps: list[_Step] = field(default_factory=list)
    columns: dict[Offsets, int] = field(default_factory=dict)
    """The offsets that no multiple of the round's number tells, and their places in a row."""

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """The offsets of each round."""
        return list(zip(*self.columns, strict=True))

    def offset(self, offsets: Offsets) -> str:
        """An expression for the offset of an argument."""
        first, step = offsets[0], offsets[min(1, len(offsets) - 1)] - offsets[0]
        if any(offset != first + step * number for number, offset in enumerate(offsets)):
            column = self.columns.setdefault(offsets, len(self.columns))
            return f"{self.table}[round][{column}]"
        if not step:
            return str(first)
        number = "(long)round" if max(offsets) > MAX_INT else "round"
        return f"{first} {'-' if step < 0 else '+'} {abs(step)} * {number}"


@dataclass(frozen=True)
class PersistentSource:
    """Renders one persistent kernel, of consecutive dispatches."""

    kernels: Kernels
    dispatches: Sequence[Dispatch]
    """All of the plan."""
    written: Sequence[Rounds]
    spans: Mapping[str, Argument]
    """Its parameters: the regions of memory that its dispatches use, by name."""
    target: Target

    def of(self, name: str) -> tuple[str, tuple[Body, ...]]:
        """The kernel's file, and where the bodies of the kernels that it computes lie in it."""
        first, end = self.written[0].first, self.written[-1].end
        functions: dict[KernelSource, str] = {}
        bodies: list[tuple[int, str]] = []
        used: set[str] = set()
        loops = []
        for rounds in self.written:
            loop = _Loop(rounds, f"{name}_offsets_{rounds.first}")
            for index in range(rounds.first, rounds.first + rounds.period):
                launch = self.kernels.launches[index]
                source = launch.rendered.source
                # All files may become one program, in which every function needs a distinct name.
                function = f"{name}_{self.kernels.records[launch.kernel].name}"
                if source not in functions:
                    functions[source] = source.functions(function)
                    bodies.append((launch.kernel, source.indented))
                    used |= source.intrinsics
                units, call = self._call(index, function, loop)
                title = f"dispatch {index}: {launch.title}"
                loop.steps.append(_Step(index - first, title, units, call))
            loops.append(loop)
        template = environment().get_template("dialects/persistent.jinja")
        frame = template.render(
            name=name,
            comment=self._comment(name, first, end),
            definitions=definitions(used, OPENCL, self.target.lanes, name),
            macros=[entry.name for entry in defined(used, OPENCL)],
            half=any(source.half for source in functions),
            functions=list(functions.values()),
            loops=loops,
            count=end - first,
            regions=[(region, span.writes) for region, span in self.spans.items()],
            apart=COUNTERS_APART,
            shares=SHARES,
            bits=32 * self.target.lanes,
        )
        return fill(frame, bodies)

    def _comment(self, name: str, first: int, end: int) -> str:
        lines = (
            f"{name}: dispatches {first} to {end - 1} in one launch",
            "counters: of each dispatch, how many work-items are taken and how many are done; of",
            "  groups, how many have left; all 0 before and after",
            f"{', '.join(self.spans)}: bytes, in which each dispatch has its own",
            "grid of as many groups of 1 x 1 x 1 as the device runs at once",
        )
        return "\n".join(f"// {line}" for line in lines)

    def _call(self, index: int, function: str, loop: _Loop) -> tuple[int, str]:
        """The number of units of a dispatch, work-items or groups, and the call for one unit."""
        dispatch, source = self.dispatches[index], self.kernels.launches[index].rendered.source
        units = tuple(size // part for size, part in zip(dispatch.grid, source.group, strict=True))
        numbers = [_number(axis, units) for axis, _ in source.axes]
        later = range(index, loop.rounds.end, loop.rounds.period)
        pointers = []
        for place, parameter in enumerate(source.parameters):
            argument = dispatch.arguments[place]
            offsets = tuple(self.dispatches[each].arguments[place].offset for each in later)
            kind = f"{'' if argument.writes else 'const '}{parameter.element}"
            name = parameter_name(argument.region, argument.index)
            pointers.append(f"part({name}, {loop.offset(offsets)}, {kind})")
        unit = "item" if source.alone else "group"
        return prod(units), f"{function}_{unit}({', '.join([*numbers, *pointers])})"


def parameter_name(region: Region, index: int) -> str:
    """The name of a persistent kernel's parameter for a region of memory."""
    name = region.name.lower()
    return name if region in (Region.ARENA, Region.WEIGHTS) else f"{name}_{index}"


def _number(axis: int, units: tuple[int, ...]) -> str:
    """The index along an axis of the unit with the flat index `item`."""
    step = prod(units[:axis])
    if units[axis] == 1:
        return "0"
    text = "item" if step == 1 else f"item / {step}"
    return text if step * units[axis] == prod(units) else f"{text} % {units[axis]}"
