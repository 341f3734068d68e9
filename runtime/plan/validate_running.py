"""Whether what a plan says about running it agrees with its dispatches, kernels and tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from .limits import LARGEST_SIZE
from .records import Argument, Dispatch, Persistent, Plan, TensorInfo
from .running import Element, Limits, Schedule, TensorBuffer
from .storage import DEVICE_TYPES, byte_size, region_size


def check_buffers(plan: Plan) -> Iterator[str]:
    yield from _buffers("input", plan.inputs, plan.input_buffers)
    yield from _buffers("output", plan.outputs, plan.output_buffers)
    for variable in plan.variables:
        yield from _reach(f"variable {variable.name}", variable.size, variable.reach)


def _buffers(
    kind: str, infos: Sequence[TensorInfo], buffers: Sequence[TensorBuffer]
) -> Iterator[str]:
    if len(infos) != len(buffers):
        yield f"there are {len(buffers)} {kind} buffers for {len(infos)} {kind}s"
        return
    for info, buffer in zip(infos, buffers, strict=True):
        name, size = f"{kind} {info.name}", byte_size(info)
        element = "none" if info.dynamic else DEVICE_TYPES.get(info.dtype, "none")
        if buffer.element is not Element[element.upper()] or buffer.size != size:
            stored = f"{buffer.size} bytes of {buffer.element.name.lower()}"
            yield f"{name} has {stored}, not {size} of {element}"
        yield from _reach(name, size, buffer.reach)


def _reach(name: str, size: int, reach: int) -> Iterator[str]:
    if not size <= reach <= LARGEST_SIZE:
        yield f"{name} of {size} bytes has a buffer of {reach}"


def check_needs(plan: Plan) -> Iterator[str]:
    """Whether a device that has what the plan needs can run its kernels."""
    needs = plan.needs
    if needs.alignment < 1:
        yield f"arguments start at multiples of {needs.alignment} bytes"
        return
    for kernel in plan.kernels:
        least = Limits(1, prod(kernel.group), kernel.group, local_memory=kernel.shared_memory)
        named = set(kernel.extensions) <= set(needs.extensions)
        if not _covers(needs, least) or not named:
            yield f"{kernel.file} needs more than the plan says"
    everything: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
    for launched in everything:
        file = plan.kernels[launched.kernel].file
        for argument in launched.arguments:
            yield from _argument(plan, argument, file)
        if plan.target == "wgsl" and _overlap(launched.arguments):
            yield f"arguments of {file} overlap, which WebGPU does not allow"


def _overlap(arguments: Sequence[Argument]) -> bool:
    """Whether arguments have bytes in common that are bound as ones that are written."""
    places = sorted(
        (item.region, item.index, item.offset, item.offset + item.size)
        for item in arguments
        if item.writes or item.beside_writes
    )
    return any(one[:2] == other[:2] and other[2] < one[3] for one, other in pairwise(places))


def _covers(needs: Limits, least: Limits) -> bool:
    sizes = zip(needs.group_sizes, least.group_sizes, strict=True)
    return (
        needs.group >= least.group
        and needs.local_memory >= least.local_memory
        and all(size >= smallest for size, smallest in sizes)
    )


def _argument(plan: Plan, argument: Argument, file: str) -> Iterator[str]:
    needs, size = plan.needs, region_size(plan, argument.region, argument.index)
    where = f"an argument of {file} at byte {argument.offset}"
    if argument.offset % needs.alignment:
        yield f"{where} is not at a multiple of {needs.alignment}"
    if argument.size > needs.argument_size or size > needs.buffer_size:
        yield f"{where} takes {argument.size} bytes of {size}, more than the plan says"
    if argument.texel and argument.size // argument.texel > needs.image_texels:
        yield f"{where} has more than {needs.image_texels} texels"
    if argument.whole != (argument.size in (0, size)):
        yield f"{where} {'is not' if argument.whole else 'is'} a whole buffer"


def check_schedules(plan: Plan) -> Iterator[str]:
    if len(plan.schedules) != (2 if plan.persistent else 1):
        count = len(plan.schedules)
        yield f"there are {count} schedules for {len(plan.persistent)} persistent kernels"
        return
    for number, schedule in enumerate(plan.schedules):
        yield from _schedule(plan, schedule, f"schedule {number}")
    if any(item.persistent >= 0 for item in plan.schedules[0].submissions):
        yield "schedule 0 submits persistent kernels"


def _schedule(plan: Plan, schedule: Schedule, name: str) -> Iterator[str]:
    """Whether it computes every dispatch once, in order, with its kernels."""
    done, used = 0, set()
    for item in schedule.submissions:
        known = item.first < len(plan.dispatches) and item.persistent < len(plan.persistent)
        launched = plan.launched(item) if known else None
        first = launched.first if isinstance(launched, Persistent) else item.first
        if launched is None or not item.first == first == done:
            yield f"{name} submits dispatch {item.first} after {done} dispatches"
            return
        done = launched.end if isinstance(launched, Persistent) else done + 1
        used.add(launched.kernel)
    if done != len(plan.dispatches):
        yield f"{name} computes {done} of {len(plan.dispatches)} dispatches"
    if schedule.kernels != tuple(sorted(used)):
        yield f"{name} lists kernels {list(schedule.kernels)}, but submits {sorted(used)}"
