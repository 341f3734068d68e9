"""The commands of a run: submissions bound to compiled programs and to device memory."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from ..frozen import dataclass
from ..plan.records import Argument, Persistent, Plan, Region
from ..plan.running import Schedule
from .device import Buffer, Command, Device, LaunchGrid, Program, Sources

Buffers = Mapping[tuple[Region, int], Buffer]
# Region, index, offset, size and texel size of an argument.
_Span = tuple[Region, int, int, int, int]


@dataclass(frozen=True)
class Commands:
    buffers: Buffers  # The memory that they work on.
    programs: Sequence[Program]  # Of `Schedule.kernels`, in that order.
    # What to enqueue before each part on LiteRT, and after the last.
    segments: Sequence[Sequence[Command]]
    recorded: Sequence[Sequence[Command]]  # The segments as the device has recorded them.


def compile_commands(
    plan: Plan, schedule: Schedule, device: Device, buffers: Buffers, sources: Sources
) -> Commands:
    """Compile the kernels from their sources, by file, and bind them (BuildError, DeviceError)."""
    kernels = [plan.kernels[index] for index in schedule.kernels]
    programs = device.build(kernels, schedule.options, sources)
    return bind_commands(plan, schedule, device, buffers, programs)


def bind_commands(
    plan: Plan, schedule: Schedule, device: Device, buffers: Buffers, programs: Sequence[Program]
) -> Commands:
    """Bind compiled kernels, those of `Schedule.kernels`, to device memory (DeviceError)."""
    spans: dict[_Span, Buffer] = {}
    compiled = dict(zip(schedule.kernels, programs, strict=True))
    commands = []
    for submission in schedule.submissions:
        launched = plan.launched(submission)
        arguments = [_argument(item, device, buffers, spans) for item in launched.arguments]
        if isinstance(launched, Persistent):
            arguments.insert(0, device.allocate(launched.counters))
            device.fill(arguments[0], launched.counters, 0)
            items = (device.resident_groups, 1, 1)
        else:
            items = launched.grid
        grid = LaunchGrid(items, plan.kernels[launched.kernel].group, submission.barrier)
        commands.append(device.bind(compiled[launched.kernel], arguments, grid))
    divided = [commands[some] for some in segments(plan, schedule)]
    return Commands(buffers, programs, divided, [device.record(segment) for segment in divided])


def _argument(
    argument: Argument, device: Device, buffers: Buffers, spans: dict[_Span, Buffer]
) -> Buffer:
    """The memory of an argument. `spans` holds what was made so far, to be made only once."""
    buffer = buffers[argument.region, argument.index]
    if argument.whole and not argument.texel:
        return buffer
    span, texel = (argument.offset, argument.size), argument.texel
    key = (argument.region, argument.index, *span, texel)
    if key not in spans:
        spans[key] = (
            device.image(buffer, *span, texel) if texel else device.sub_buffer(buffer, *span)
        )
    return spans[key]


def segments(plan: Plan, schedule: Schedule) -> list[slice]:
    """The submissions before each part on LiteRT, then those after the last part."""
    firsts = [submission.first for submission in schedule.submissions]
    ends = [bisect_left(firsts, part.before) for part in plan.parts]
    return [slice(*pair) for pair in zip([0, *ends], [*ends, len(firsts)], strict=True)]
