"""What a plan says beside its dispatches, so that no runtime has to work it out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from ...runtime.plan.kernels import Kernel
from ...runtime.plan.records import Argument, Dispatch, Persistent, Plan, Region, TensorInfo
from ...runtime.plan.running import Element, Limits, TensorBuffer
from ...runtime.plan.storage import DEVICE_TYPES, byte_size, region_size, whole_words
from .schedules import schedules


def stated(plan: Plan) -> Plan:
    """A plan of dispatches, kernels and tensors with everything that follows from these."""
    ends = _ends(plan)
    sized = replace(
        plan,
        input_buffers=_buffers(plan.inputs, Region.INPUT, ends),
        output_buffers=_buffers(plan.outputs, Region.OUTPUT, ends),
        variables=tuple(
            replace(variable, reach=max(variable.size, variable.reach, ends[Region.STATE, index]))
            for index, variable in enumerate(plan.variables)
        ),
    )
    placed = replace(
        sized,
        dispatches=tuple(replace(d, arguments=_arguments(sized, d)) for d in plan.dispatches),
        persistent=tuple(replace(p, arguments=_arguments(sized, p)) for p in plan.persistent),
    )
    return replace(
        placed, schedules=schedules(placed), needs=_needs(placed), obstacles=_obstacles(placed)
    )


# -- buffers ----------------------------------------------------------------------------------


def _ends(plan: Plan) -> dict[tuple[Region, int], int]:
    """How many bytes of each region are accessed."""
    ends: dict[tuple[Region, int], int] = defaultdict(int)
    launched: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
    spans = [argument for item in launched for argument in item.arguments]
    spans += [tensor.place for tensor in plan.host_tensors if tensor.place is not None]
    for span in spans:
        key = (span.region, span.index)
        ends[key] = max(ends[key], span.offset + span.size)
    return ends


def _buffers(
    infos: Sequence[TensorInfo], region: Region, ends: dict[tuple[Region, int], int]
) -> tuple[TensorBuffer, ...]:
    buffers = []
    for index, info in enumerate(infos):
        size, end = byte_size(info), ends[region, index]
        buffers.append(TensorBuffer(_element(info), size, max(whole_words(size), end), end > 0))
    return tuple(buffers)


def _element(info: TensorInfo) -> Element:
    on_device = info.dtype in DEVICE_TYPES and not info.dynamic
    return Element[DEVICE_TYPES[info.dtype].upper()] if on_device else Element.NONE


# -- launches ---------------------------------------------------------------------------------


def _arguments(plan: Plan, launched: Dispatch | Persistent) -> tuple[Argument, ...]:
    """The arguments of a launch, each with how it lies in its buffer."""
    written = [(item.region, item.index) for item in launched.arguments if item.writes]
    return tuple(
        replace(
            item,
            whole=item.size in (0, region_size(plan, item.region, item.index)),
            beside_writes=written.count((item.region, item.index)) > item.writes,
        )
        for item in launched.arguments
    )


def _needs(plan: Plan) -> Limits:
    launched: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
    arguments = [argument for item in launched for argument in item.arguments]
    counts = [_counts(plan.kernels[item.kernel], item.grid) for item in plan.dispatches]
    groups = [kernel.group for kernel in plan.kernels]
    reaches = [buffer.reach for buffer in (*plan.input_buffers, *plan.output_buffers)]
    reaches += [variable.reach for variable in plan.variables]
    return Limits(
        # The greatest power of two that divides all offsets.
        min((item.offset & -item.offset for item in arguments if item.offset), default=1 << 30),
        max(map(prod, groups), default=0),
        _largest(groups),
        _largest(counts),
        max((kernel.shared_memory for kernel in plan.kernels), default=0),
        max((kernel.parameters for kernel in plan.kernels), default=0),
        max((item.size for item in arguments), default=0),
        max(plan.arena_size, plan.weights_size, *reaches),
        max((item.size // item.texel for item in arguments if item.texel), default=0),
        _extensions(plan.kernels),
    )


def _extensions(kernels: Sequence[Kernel]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for kernel in kernels for name in kernel.extensions))


def _counts(kernel: Kernel, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, z = (items // size for items, size in zip(grid, kernel.group, strict=True))
    return x, y, z


def _largest(extents: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    x, y, z = (max((extent[axis] for extent in extents), default=0) for axis in range(3))
    return x, y, z


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
