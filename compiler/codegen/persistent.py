"""Persistent kernels: stretches of dispatches as one launch, whose work-groups stay to its end.

On a processor a launch costs as much as a small layer takes, as the driver's threads fall asleep
between launches. Here as many groups as there are threads take shares of one dispatch after
another from counters and wait for each other in between, as thread pools of libraries for
processors do (persistent threads: Gupta et al., InPar 2012).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ...runtime.plan.records import Argument, Dispatch, Kernel, Persistent, Region
from ..devices import Profile
from ..errors import RenderError
from .intrinsics import environment, prelude
from .render import ENTRY, Rendered
from .source_files import Launched, title

TEMPLATE = "dialects/persistent.jinja"
COUNTERS_APART = 16
"""Integers from one counter to the next, so that no two share a cache line."""
SHARES = 4
"""Into how many shares for each group what is left of a dispatch is divided."""
MOST_ITEMS = 1 << 30
"""Work-items of a dispatch; the counter of them runs past their number."""

_FRAME = re.compile(rf"__kernel __attribute__\(\(reqd_work_group_size\(.*\)\)\)\nvoid {ENTRY}\(\n")
_SHARED = re.compile(r"^  __local (.+);$", re.MULTILINE)
_REPLACED = frozenset(("global_id", "wait_for_group"))
"""Words that have another meaning in a persistent kernel."""


@dataclass(frozen=True)
class Merged:
    """A persistent kernel with its text."""

    record: Persistent
    kernel: Kernel
    source: str


@dataclass(frozen=True)
class _Step:
    """A dispatch within a persistent kernel, as the template needs it."""

    title: str
    items: int
    call: str


def merge(
    launched: Sequence[Launched],
    dispatches: Sequence[Dispatch],
    kernels: Sequence[Kernel],
    stops: Container[int],
    profile: Profile,
) -> list[Merged]:
    """Every stretch of dispatches that is one launch on devices of a profile.

    `launched` are what the dispatches launch; `stops` are dispatches before which a launch ends.
    """
    merged: list[Merged] = []
    stretches = list(_stretches(launched, stops, profile.persistent_dispatches))
    for first, end in stretches:
        spans = _spans(dispatches[first:end])
        if len(spans) < profile.max_arguments:
            number = len(kernels) + len(merged)
            name = f"persistent_{number:03}"
            # All may become one program, in which every function needs a name of its own.
            suffix = f"_{number:03}" if len(stretches) > 1 else ""
            steps = launched[first:end]
            text = _source(name, suffix, first, steps, dispatches, kernels, spans, profile)
            digest = hashlib.sha256(text.encode()).digest()
            kernel = Kernel(name, f"kernels/{number:03}_persistent.cl", digest, (1, 1, 1))
            counters = (2 * (end - first) + 1) * COUNTERS_APART * 4
            arguments = tuple(spans.values())
            record = Persistent(number, first, end - first, counters, arguments)
            merged.append(Merged(record, kernel, text))
    return merged


def _stretches(
    launched: Sequence[Launched], stops: Container[int], longest: int
) -> Iterator[tuple[int, int]]:
    """First and end of what can be one launch and is more than one dispatch."""
    first = 0
    for index in range(len(launched) + 1):
        ends = index == len(launched) or not _divisible(launched[index].rendered)
        if ends or index in stops or index - first >= longest:
            if index - first > 1:
                yield first, index
            first = index + ends


def _divisible(rendered: Rendered) -> bool:
    """Whether every work-item can be computed by itself."""
    alone = prod(rendered.group) == 1
    exchange = "wait_for_group" in rendered.body or _SHARED.search(rendered.body)
    return prod(rendered.grid) <= MOST_ITEMS and (alone or not exchange)


def _spans(dispatches: Sequence[Dispatch]) -> dict[str, Argument]:
    """What dispatches use of each region, from its start on, by the name of a parameter."""
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


def _source(
    name: str,
    suffix: str,
    first: int,
    launched: Sequence[Launched],
    dispatches: Sequence[Dispatch],
    kernels: Sequence[Kernel],
    spans: dict[str, Argument],
    profile: Profile,
) -> str:
    functions: dict[str, str] = {}
    steps = []
    for index, item in enumerate(launched, first):
        dispatch, kernel = dispatches[index], kernels[item.kernel]
        if kernel.name not in functions:
            functions[kernel.name] = _function(kernel, suffix, item.rendered)
        units = tuple(size // part for size, part in zip(dispatch.grid, kernel.group, strict=True))
        arguments = [*_place(units), *_pointers(dispatch, item.rendered)]
        steps.append(
            _Step(
                f"dispatch {index}, operator {item.op.index} {title(item.op)}",
                prod(units),
                f"{kernel.name}_{_unit(kernel)}{suffix}({', '.join(arguments)})",
            )
        )
    context = {
        "name": name,
        "functions": list(functions.values()),
        "steps": steps,
        "regions": [(region, span.writes) for region, span in spans.items()],
        "exchange": any("wait_for_group" in text for text in functions.values()),
        "apart": COUNTERS_APART,
        "shares": SHARES,
        "bits": 32 * profile.slice_width,
    }
    body = environment().get_template(TEMPLATE).render(context)
    header = (
        f"// {name}: dispatches {first} to {first + len(steps) - 1} in one launch\n"
        f"// counters: of each dispatch, how many work-items are taken and how many are done; of\n"
        f"//   groups, how many have left; all 0 before and after\n"
        f"// {', '.join(spans)}: bytes, in which each dispatch has its own\n"
        f"// grid of as many groups of 1 x 1 x 1 as the device runs at once\n"
    )
    return header + prelude("opencl", profile.slice_width, body, without=_REPLACED) + body


def _unit(kernel: Kernel) -> str:
    """What a function computes that is called by itself: a work-item, or a group of light ones."""
    return "item" if prod(kernel.group) == 1 else "group"


def _function(kernel: Kernel, suffix: str, rendered: Rendered) -> str:
    """A kernel as a function for one work-item, and if it has groups, one for a group."""
    alone = _unit(kernel) == "item"
    # Calls are cheap beside heavy work-items; light ones are in a loop that compilers vectorize.
    head = f"{'separate' if alone else 'static inline'} void {kernel.name}_item{suffix}(\n"
    head += "    int item_0, int item_1, int item_2,\n"
    text, frames = _FRAME.subn(head, rendered.body)
    if frames != 1:
        raise RenderError(f"{rendered.template}: its frame is not that of a kernel")
    # What only one work-item uses needs no memory of the group.
    text = _SHARED.sub(r"  __attribute__((aligned(64))) \1;", text)
    return text if alone else f"{text}\n{_group(kernel, suffix, rendered)}"


def _group(kernel: Kernel, suffix: str, rendered: Rendered) -> str:
    """The function that computes the work-items of a group, which are independent."""
    # The frame's, in one line.
    _, _, rest = rendered.body.partition(f"{ENTRY}(\n")
    parameters = " ".join(rest.partition(") {")[0].split())
    axes = [axis for axis in (2, 1, 0) if kernel.group[axis] > 1]
    lines = [
        f"separate void {kernel.name}_group{suffix}(",
        f"    int group_0, int group_1, int group_2, {parameters}) {{",
        *(f"  for (int i{axis} = 0; i{axis} < {kernel.group[axis]}; i{axis}++)" for axis in axes),
    ]
    lines.insert(-1, "  #pragma clang loop vectorize(assume_safety)")
    places = [
        f"group_{axis} * {size} + i{axis}" if size > 1 else f"group_{axis}"
        for axis, size in enumerate(kernel.group)
    ]
    lines += [f"    {kernel.name}_item{suffix}({', '.join([*places, *rendered.names])});", "}", ""]
    return "\n".join(lines)


def _place(units: tuple[int, ...]) -> Iterator[str]:
    """The place in a grid of the work-item or group whose number is `item`."""
    columns, rows, layers = units
    for step, size in ((1, columns), (columns, rows), (columns * rows, layers)):
        if size == 1:
            yield "0"
        else:
            number = "item" if step == 1 else f"item / {step}"
            yield number if step * size == prod(units) else f"{number} % {size}"


def _pointers(dispatch: Dispatch, rendered: Rendered) -> Iterator[str]:
    for argument, element in zip(dispatch.arguments, rendered.elements, strict=True):
        kind = element if argument.writes else f"const {element}"
        yield f"part({_parameter(argument.region, argument.index)}, {argument.offset}, {kind})"
