"""The commands of a run: submissions bound to compiled programs and to device memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import DeviceError
from ..plan.records import Argument, Kernel, Plan, Region
from ..plan.storage import takes_whole_region
from .device import Buffer, Command, Device, Program
from .schedule import Submission, barriers, segments, used_kernels

Buffers = Mapping[tuple[Region, int], Buffer]
"""The buffer of each region and index."""
_Span = tuple[Region, int, int, int, int]
"""Region, index, offset, size and texel size of an argument."""


@dataclass(frozen=True)
class Commands:
    """The commands of some submissions of a plan."""

    programs: Sequence[Program]
    """Of `used_kernels`, in that order."""
    segments: Sequence[Sequence[Command]]
    """What to enqueue before each part on LiteRT, and after the last."""
    recorded: Sequence[Sequence[Command]]
    """The same segments as the device has recorded them."""


def compile_commands(
    plan: Plan,
    submissions: Sequence[Submission],
    device: Device,
    buffers: Buffers,
    sources: Mapping[str, str],
) -> Commands:
    """Compile the kernels from their sources, by file, and bind them (BuildError, DeviceError)."""
    programs = device.build(plan, _kernels(plan, submissions), sources)
    return _bind(plan, submissions, device, buffers, programs)


def restore_commands(
    plan: Plan,
    submissions: Sequence[Submission],
    device: Device,
    buffers: Buffers,
    binary: bytes,
) -> Commands | None:
    """Bind kernels that were compiled before; None if they must be compiled again."""
    programs = device.restore(plan, _kernels(plan, submissions), binary)
    if programs is None:
        return None
    try:
        return _bind(plan, submissions, device, buffers, programs)
    except DeviceError:
        # Only now may a driver notice that it cannot use the binary.
        return None


def _kernels(plan: Plan, submissions: Sequence[Submission]) -> list[Kernel]:
    return [plan.kernels[index] for index in used_kernels(submissions)]


def _bind(
    plan: Plan,
    submissions: Sequence[Submission],
    device: Device,
    buffers: Buffers,
    programs: Sequence[Program],
) -> Commands:
    spans: dict[_Span, Buffer] = {}
    compiled = dict(zip(used_kernels(submissions), programs, strict=True))
    commands = []
    for submission, barrier in zip(submissions, barriers(submissions), strict=True):
        arguments = [
            _argument(plan, argument, device, buffers, spans) for argument in submission.arguments
        ]
        if submission.counters:
            arguments.insert(0, device.allocate(submission.counters))
            device.fill(arguments[0], submission.counters, 0)
        program, group = compiled[submission.kernel], plan.kernels[submission.kernel].group
        commands.append(device.bind(program, arguments, submission.grid, group, barrier))
    divided = [commands[some] for some in segments(plan, submissions)]
    return Commands(programs, divided, [device.record(segment) for segment in divided])


def _argument(
    plan: Plan,
    argument: Argument,
    device: Device,
    buffers: Buffers,
    spans: dict[_Span, Buffer],
) -> Buffer:
    """The memory of an argument. `spans` holds what was made so far, to be made only once."""
    buffer = buffers[argument.region, argument.index]
    if takes_whole_region(plan, argument) and not argument.texel:
        return buffer
    span, texel = (argument.offset, argument.size), argument.texel
    key = (argument.region, argument.index, *span, texel)
    if key not in spans:
        spans[key] = (
            device.image(buffer, *span, texel) if texel else device.sub_buffer(buffer, *span)
        )
    return spans[key]
