"""What a run launches: kernels that are compiled or restored, bound to their memory on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import DeviceError
from ..plan.records import Argument, Kernel, Plan, Region
from ..plan.sizes import region_size
from .barriers import barriers
from .device import Buffer, Device, Launch, Program
from .schedule import Step, between_parts, used_kernels

Buffers = Mapping[tuple[Region, int], Buffer]
"""The memory of each region."""
_Place = tuple[Region, int, int, int, int]
"""Region, index, offset, size and texel of a piece of memory."""


@dataclass(frozen=True)
class Launches:
    """The launches of some steps of a plan, and the programs of their kernels."""

    programs: Sequence[Program]
    """Of `used_kernels`, in their order."""
    stretches: Sequence[Sequence[Launch]]
    """What to launch in front of each part on LiteRT, and behind the last."""
    recorded: Sequence[Sequence[Launch]]
    """The same, as the device is given it in a run."""


def compile_launches(
    plan: Plan,
    steps: Sequence[Step],
    device: Device,
    buffers: Buffers,
    sources: Mapping[str, str],
) -> Launches:
    """Launches of kernels from their sources, by file (BuildError, DeviceError)."""
    programs = device.build(plan, _kernels(plan, steps), sources)
    return _launches(plan, steps, device, buffers, programs)


def restore_launches(
    plan: Plan, steps: Sequence[Step], device: Device, buffers: Buffers, binary: bytes
) -> Launches | None:
    """Launches of kernels that were compiled before; None if they must be compiled."""
    programs = device.restore(plan, _kernels(plan, steps), binary)
    if programs is None:
        return None
    try:
        return _launches(plan, steps, device, buffers, programs)
    except DeviceError:
        # A driver may find out only now that the binary is not its own.
        return None


def _kernels(plan: Plan, steps: Sequence[Step]) -> list[Kernel]:
    return [plan.kernels[index] for index in used_kernels(steps)]


def _launches(
    plan: Plan,
    steps: Sequence[Step],
    device: Device,
    buffers: Buffers,
    programs: Sequence[Program],
) -> Launches:
    """Bind every step to its kernel and its pieces of memory."""
    pieces: dict[_Place, Buffer] = {}
    compiled = dict(zip(used_kernels(steps), programs, strict=True))
    launches = []
    for step, barrier in zip(steps, barriers(steps), strict=True):
        arguments = [_piece(plan, argument, device, buffers, pieces) for argument in step.arguments]
        if step.counters:
            arguments.insert(0, device.allocate(step.counters))
            device.fill(arguments[0], step.counters, 0)
        group = plan.kernels[step.kernel].group
        launch = device.prepare(compiled[step.kernel], arguments, step.grid, group, barrier)
        launches.append(launch)
    stretches = [launches[some] for some in between_parts(plan, steps)]
    return Launches(programs, stretches, [device.record(stretch) for stretch in stretches])


def _piece(
    plan: Plan,
    argument: Argument,
    device: Device,
    buffers: Buffers,
    pieces: dict[_Place, Buffer],
) -> Buffer:
    """The memory of an argument; pieces that several steps use are made once."""
    buffer = buffers[argument.region, argument.index]
    # No driver makes an empty piece; a kernel that is given one never reads it.
    whole = argument.size in (0, region_size(plan, argument.region, argument.index))
    if whole and not argument.texel:
        return buffer
    place, texel = (argument.offset, argument.size), argument.texel
    key = (argument.region, argument.index, *place, texel)
    if key not in pieces:
        pieces[key] = device.image(buffer, *place, texel) if texel else device.part(buffer, *place)
    return pieces[key]
