"""Whether what a plan states beside its dispatches follows from these."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import pairwise

from .facts import buffers, ends, needs, placing, reaches, submitted
from .limits import check_size
from .records import Argument, Dispatch, Persistent, Plan, Region
from .running import Submission


def check_reaches(plan: Plan) -> Iterator[str]:
    """Whether buffers have sizes that others can be compared with."""
    for kind, infos, found in (
        ("input", plan.inputs, plan.input_buffers),
        ("output", plan.outputs, plan.output_buffers),
    ):
        if len(infos) != len(found):
            yield f"there are {len(found)} {kind} buffers for {len(infos)} {kind}s"
        for index, buffer in enumerate(found):
            yield from check_size(f"the buffer of {kind} {index}", buffer.reach)
    for variable in plan.variables:
        yield from check_size(f"the buffer of variable {variable.name}", variable.reach)


def check_facts(plan: Plan) -> Iterator[str]:
    accessed = ends(plan)
    inputs = buffers(plan.inputs, Region.INPUT, accessed)
    outputs = buffers(plan.outputs, Region.OUTPUT, accessed)
    yield from _compare("input_buffers", plan.input_buffers, inputs)
    yield from _compare("output_buffers", plan.output_buffers, outputs)
    for variable, reach in zip(plan.variables, reaches(plan, accessed), strict=True):
        yield from _compare(f"the reach of variable {variable.name}", variable.reach, reach)
    needed = needs(plan)
    if plan.needs != needed:
        for item in fields(needed):
            name = item.name
            yield from _compare(f"needs.{name}", getattr(plan.needs, name), getattr(needed, name))
    launches: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
    for launched in launches:
        arguments = launched.arguments
        file = plan.kernels[launched.kernel].file
        stated = [(item.whole, item.beside_writes) for item in arguments]
        yield from _compare(f"how arguments of {file} lie", stated, placing(plan, launched))
        if plan.target == "wgsl" and _overlap(arguments):
            yield f"arguments of {file} overlap, which WebGPU does not allow"


def _compare(name: str, stated: object, derived: object) -> Iterator[str]:
    if stated != derived:
        yield f"{name} must be {derived}, not {stated}"


def _overlap(arguments: Sequence[Argument]) -> bool:
    """Whether arguments have bytes in common that are bound as ones that are written."""
    places = sorted(
        (item.region, item.index, item.offset, item.offset + item.size)
        for item in arguments
        if item.writes or item.beside_writes
    )
    return any(one[:2] == other[:2] and other[2] < one[3] for one, other in pairwise(places))


def check_schedules(plan: Plan) -> Iterator[str]:
    """Whether each submits what it should, with its kernels; barriers are not compared."""
    expected = [*submitted(plan)]
    if len(plan.schedules) != len(expected):
        count = len(plan.schedules)
        yield f"there are {count} schedules for {len(plan.persistent)} persistent kernels"
        return
    for number, (schedule, submissions) in enumerate(zip(plan.schedules, expected, strict=True)):
        kernels = {plan.launched(item).kernel for item in submissions}
        both = (_launches(schedule.submissions), _launches(submissions))
        yield from _compare(f"what schedule {number} submits", *both)
        used = tuple(sorted(kernels))
        yield from _compare(f"the kernels of schedule {number}", schedule.kernels, used)


def _launches(submissions: Sequence[Submission]) -> list[tuple[int, int]]:
    return [(item.first, item.persistent) for item in submissions]
