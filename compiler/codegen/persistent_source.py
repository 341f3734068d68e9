"""The source of a persistent kernel: functions of the kernels that it computes, and their calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...runtime.plan.kernels import Body
from ...runtime.plan.records import Argument, Dispatch, Region
from ..language.language import OPENCL
from ..language.wrapping import WIDTH, comment, wrapped
from ..target import Target
from .functions.definitions import defined, definitions
from .generated import Kernels
from .kernel_source import KernelSource, fill
from .rendering.environment import environment

COUNTERS_APART = 16  # Integers from one counter to the next, so that no two share a cache line.
SHARES = 4  # Shares per work-group into which the rest of a dispatch is divided.
# How often a group looks whether the others are done before it sleeps: about 0.1 ms, longer than
# any waits while each has a processor.
LOOKS = 200_000
MAX_INT = (1 << 31) - 1
CALL_INDENTATION = 10  # Characters before the calls in the template.


@dataclass(frozen=True)
class _Row:
    """A dispatch, as the table of the kernel lists it."""

    title: str
    numbers: tuple[int, ...]  # Its case, its units, and the bytes at which its arguments begin.


@dataclass(frozen=True)
class PersistentSource:
    """Renders one persistent kernel, of consecutive dispatches."""

    kernels: Kernels
    dispatches: Sequence[Dispatch]
    first: int
    end: int  # The dispatch after the last one.
    # Its parameters: the regions of memory that its dispatches use, by name.
    spans: Mapping[str, Argument]
    target: Target

    def of(self, name: str) -> tuple[str, tuple[Body, ...]]:
        """The kernel's file, and where the bodies of the kernels that it computes lie in it."""
        functions: dict[KernelSource, str] = {}
        bodies: list[tuple[int, str]] = []
        used: set[str] = set()
        cases: dict[object, int] = {}
        calls: list[str] = []
        rows = []
        for index in range(self.first, self.end):
            launch, dispatch = self.kernels.launches[index], self.dispatches[index]
            source = launch.rendered.source
            # All files may become one program, in which every function needs a distinct name.
            function = f"{name}_{self.kernels.records[launch.kernel].name}"
            if source not in functions:
                functions[source] = source.functions(function)
                bodies.append((launch.kernel, source.text))
                used |= source.intrinsics
            units = tuple(a // b for a, b in zip(dispatch.grid, source.group, strict=True))
            case = cases.setdefault(_kind(dispatch), len(cases))
            if case == len(calls):
                calls.append(_call(function, source, units, dispatch.arguments))
            offsets = (argument.offset for argument in dispatch.arguments)
            rows.append(_Row(f"dispatch {index}: {launch.title}", (case, prod(units), *offsets)))
        template = environment().get_template("dialects/persistent.jinja")
        frame = template.render(
            name=name,
            comment=self._comment(name),
            definitions=definitions(used, OPENCL, self.target.lanes, name),
            macros=[entry.name for entry in defined(used, OPENCL)],
            half=any(source.half for source in functions),
            functions=list(functions.values()),
            rows=rows,
            width=max(len(row.numbers) for row in rows),
            integer="long" if any(max(row.numbers) > MAX_INT for row in rows) else "int",
            calls=[wrapped(f"each_item({call});", WIDTH - CALL_INDENTATION) for call in calls],
            regions=[(region, span.writes) for region, span in self.spans.items()],
            apart=COUNTERS_APART,
            shares=SHARES,
            looks=LOOKS,
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
        return comment(lines)


def _kind(dispatch: Dispatch) -> object:
    """What dispatches of one case have in common."""
    arguments = tuple((each.region, each.index, each.writes) for each in dispatch.arguments)
    return dispatch.kernel, dispatch.grid, arguments


def _call(
    function: str, source: KernelSource, units: tuple[int, ...], arguments: Sequence[Argument]
) -> str:
    """The call that computes one unit of a dispatch, a work-item or a work-group."""
    numbers = [_number(axis, units) for axis, _ in source.axes]
    pointers = []
    for place, (parameter, argument) in enumerate(zip(source.parameters, arguments, strict=True)):
        kind = f"{'' if argument.writes else 'const '}{parameter.element}"
        name = parameter_name(argument.region, argument.index)
        pointers.append(f"part({name}, {place}, {kind})")
    return f"{function}_{'item' if source.alone else 'group'}({', '.join([*numbers, *pointers])})"


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
