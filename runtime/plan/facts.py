"""What follows from the dispatches of a plan, its kernels and its tensors.

The compiler states it in the plan, so that no runtime has to work it out, and `validate` compares.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from .records import Argument, Dispatch, Persistent, Plan, Region, TensorInfo
from .running import Element, Limits, Submission, TensorBuffer
from .storage import DEVICE_TYPES, byte_size, region_size, whole_words

Ends = Mapping[tuple[Region, int], int]  # How many bytes of each region are accessed.


def ends(plan: Plan) -> Ends:
    found: dict[tuple[Region, int], int] = defaultdict(int)
    spans = [*_arguments(plan)]
    spans += [tensor.place for tensor in plan.host_tensors if tensor.place is not None]
    for span in spans:
        key, end = (span.region, span.index), span.offset + span.size
        if end > found[key]:
            found[key] = end
    return found


def _arguments(plan: Plan) -> Iterator[Argument]:
    launched: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
    return (argument for item in launched for argument in item.arguments)


def buffers(infos: Sequence[TensorInfo], region: Region, ends: Ends) -> tuple[TensorBuffer, ...]:
    """The buffers of inputs or outputs, which lie in that region."""
    found = []
    for index, info in enumerate(infos):
        size, end = byte_size(info), ends[region, index]
        found.append(TensorBuffer(_element(info), size, max(whole_words(size), end), end > 0))
    return tuple(found)


def _element(info: TensorInfo) -> Element:
    on_device = info.dtype in DEVICE_TYPES and not info.dynamic
    return Element[DEVICE_TYPES[info.dtype].upper()] if on_device else Element.NONE


def reaches(plan: Plan, ends: Ends) -> tuple[int, ...]:
    """The reach of each variable; that of another plan which shares its buffer may be larger."""
    return tuple(
        max(variable.size, variable.reach, ends[Region.STATE, index])
        for index, variable in enumerate(plan.variables)
    )


def placing(plan: Plan, launched: Dispatch | Persistent) -> list[tuple[bool, bool]]:
    """`whole` and `beside_writes` of each argument of a launch; plans have their buffers' sizes."""
    written = [(item.region, item.index) for item in launched.arguments if item.writes]
    return [
        (
            item.size in (0, region_size(plan, item.region, item.index)),
            written.count((item.region, item.index)) > item.writes,
        )
        for item in launched.arguments
    ]


def needs(plan: Plan) -> Limits:
    arguments = [*_arguments(plan)]
    counts = [_counts(plan.kernels[item.kernel].group, item.grid) for item in plan.dispatches]
    groups = [kernel.group for kernel in plan.kernels]
    reach = [buffer.reach for buffer in (*plan.input_buffers, *plan.output_buffers)]
    reach += [variable.reach for variable in plan.variables]
    return Limits(
        # The greatest power of two that divides all offsets.
        min((item.offset & -item.offset for item in arguments if item.offset), default=1 << 30),
        max(map(prod, groups), default=0),
        _largest(groups),
        _largest(counts),
        max((kernel.shared_memory for kernel in plan.kernels), default=0),
        max((kernel.parameters for kernel in plan.kernels), default=0),
        max((item.size for item in arguments), default=0),
        max(plan.arena_size, plan.weights_size, *reach),
        max((item.size // item.texel for item in arguments if item.texel), default=0),
        tuple(dict.fromkeys(name for kernel in plan.kernels for name in kernel.extensions)),
        max((kernel.iterations for kernel in plan.kernels), default=0),
    )


def _counts(group: tuple[int, int, int], grid: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, z = (items // size for items, size in zip(grid, group, strict=True))
    return x, y, z


def _largest(extents: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    x, y, z = (max((extent[axis] for extent in extents), default=0) for axis in range(3))
    return x, y, z


def submitted(plan: Plan) -> Iterator[list[Submission]]:
    """What each schedule of the plan submits, without barriers: these are the compiler's."""
    yield [Submission(index, -1, False) for index in range(len(plan.dispatches))]
    if plan.persistent:
        yield [*_merged(plan)]


def _merged(plan: Plan) -> Iterator[Submission]:
    """The persistent kernels, and the dispatches that none of them computes."""
    index = 0
    for number, record in enumerate(plan.persistent):
        yield from (Submission(left, -1, False) for left in range(index, record.first))
        yield Submission(record.first, number, False)
        index = record.end
    yield from (Submission(left, -1, False) for left in range(index, len(plan.dispatches)))
