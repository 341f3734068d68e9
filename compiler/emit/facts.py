"""What a plan says beside its dispatches, so that no runtime has to work it out.

Such as submissions with the barriers between them, and where each buffer lies.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ...runtime.plan.facts import buffers, ends, needs, placing, reaches, submitted
from ...runtime.plan.records import (
    Argument,
    Dispatch,
    Persistent,
    PlacedTensor,
    Plan,
    Region,
    TensorInfo,
)
from ...runtime.plan.running import Element, Schedule, Submission, TensorBuffer

# Denormal numbers, which many processors compute slowly, may be taken for zeros.
OPENCL_OPTIONS = "-cl-mad-enable -cl-denorms-are-zero -w"
# With persistent kernels: OpenCL C has ordered atomics since version 2.0.
PERSISTENT_OPTIONS = f"{OPENCL_OPTIONS} -cl-std=CL3.0"


def schedules(plan: Plan) -> tuple[Schedule, ...]:
    """A submission for each dispatch; and one with the plan's persistent kernels, if it has any."""
    options = (OPENCL_OPTIONS if plan.target == "opencl" else "", PERSISTENT_OPTIONS)
    return tuple(map(partial(_schedule, plan), submitted(plan), options))


def _schedule(plan: Plan, submissions: Sequence[Submission], options: str) -> Schedule:
    launched = [plan.launched(item) for item in submissions]
    needed = barriers([item.arguments for item in launched])
    ordered = tuple(
        Submission(item.first, item.persistent, barrier)
        for item, barrier in zip(submissions, needed, strict=True)
    )
    return Schedule(ordered, tuple(sorted({item.kernel for item in launched})), options)


def barriers(launched: Sequence[Iterable[Argument]]) -> list[bool]:
    """For the arguments of each submission, whether a memory barrier must precede it.

    It must if the submission reads bytes written since the last barrier, or writes bytes read or
    written since then. A run starts with a barrier of its own, so the first needs none.
    """
    needed = []
    since: list[Argument] = []
    for arguments in launched:
        # Weights and inputs are never written, so there can be no conflict.
        used = [
            argument
            for argument in arguments
            if argument.size and argument.region not in (Region.WEIGHTS, Region.INPUT)
        ]
        conflict = any(_conflicts(argument, since) for argument in used)
        needed.append(conflict)
        since = used if conflict else since + used
    return needed


def _conflicts(argument: Argument, others: Iterable[Argument]) -> bool:
    """Whether an argument overlaps one of the others, and at least one of the two writes."""
    return any((argument.writes or other.writes) and overlap(argument, other) for other in others)


def overlap(one: Argument | PlacedTensor, other: Argument | PlacedTensor) -> bool:
    """Whether two have bytes in common."""
    return (
        (one.region, one.index) == (other.region, other.index)
        and one.offset < other.offset + other.size
        and other.offset < one.offset + one.size
    )


_Launched = TypeVar("_Launched", Dispatch, Persistent)


def stated(plan: Plan) -> Plan:
    """A plan of dispatches, kernels and tensors with everything that follows from these."""
    accessed = ends(plan)
    sized = replace(
        plan,
        input_buffers=buffers(plan.inputs, Region.INPUT, accessed),
        output_buffers=buffers(plan.outputs, Region.OUTPUT, accessed),
        variables=tuple(
            replace(variable, reach=reach)
            for variable, reach in zip(plan.variables, reaches(plan, accessed), strict=True)
        ),
    )
    placed = replace(
        sized,
        dispatches=tuple(_placed(sized, item) for item in plan.dispatches),
        persistent=tuple(_placed(sized, item) for item in plan.persistent),
    )
    return replace(
        placed, schedules=schedules(placed), needs=needs(placed), obstacles=_obstacles(placed)
    )


def _placed(plan: Plan, launched: _Launched) -> _Launched:
    """A launch whose arguments say how they lie in their buffers."""
    places = zip(launched.arguments, placing(plan, launched), strict=True)
    arguments = (
        replace(item, whole=whole, beside_writes=beside) for item, (whole, beside) in places
    )
    return replace(launched, arguments=tuple(arguments))


# -- what needs Python ------------------------------------------------------------------------


def _obstacles(plan: Plan) -> tuple[str, ...]:
    return (
        *(
            f"operators {', '.join(map(str, part.operators))} ({part.label}) run "
            + ("in Python" if part.function else "on LiteRT; `tflgpu explain` says why")
            for part in plan.parts
        ),
        *_only_on_host("input", plan.inputs, plan.input_buffers),
        *_only_on_host("output", plan.outputs, plan.output_buffers),
    )


def _only_on_host(
    kind: str, infos: Sequence[TensorInfo], buffers: Sequence[TensorBuffer]
) -> Iterator[str]:
    for info, buffer in zip(infos, buffers, strict=True):
        if info.dynamic:
            yield f"the shape of {kind} {info.name} is only known after a run"
        elif buffer.element is Element.NONE:
            yield f"{kind} {info.name} is of type {info.dtype}, which devices do not have"
