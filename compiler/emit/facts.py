"""What a plan says beside its dispatches, so that no runtime has to work it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ...runtime.plan.facts import buffers, ends, needs, placing, reaches
from ...runtime.plan.records import Dispatch, Persistent, Plan, Region, TensorInfo
from ...runtime.plan.running import Element, TensorBuffer
from .schedules import schedules

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
