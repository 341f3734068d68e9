"""The limits a plan must keep, so that executing it can touch nothing outside its own buffers.

A plan's digest shows that its bytes are those the compiler wrote; these checks show that what was
written makes sense. The compiler runs them before it writes, the runtime after it has read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite, prod

from ..errors import PlanError
from .records import (
    Argument,
    Dispatch,
    HostPart,
    HostTensor,
    Kernel,
    Persistent,
    PlacedTensor,
    Plan,
    Region,
    TensorInfo,
)
from .sizes import DEVICE_TYPES, ITEM_SIZE, region_size, slices

HOST_TYPES = frozenset([*DEVICE_TYPES, "complex64", "complex128", "float64", "string", "uint64"])
"""Types a tensor may have that never leaves the host."""

TARGETS = {"opencl": ".cl", "glsl": ".comp", "vulkan": ".comp", "metal": ".metal"}
"""The suffix of kernel files of each target."""

TEXELS = (0, 8, 16)
"""Bytes of a texel of half floats and of floats; 0 where a kernel takes a buffer."""

LARGEST_COUNT = 1 << 18
"""Elements any list of a plan may have."""
LARGEST_SIZE = 1 << 40
"""Bytes any buffer may have."""
LARGEST_GRID = (1 << 31) - 1
LARGEST_GROUP = 1 << 16
LARGEST_RANK = 32
LARGEST_ARGUMENTS = 128
LARGEST_SLICE = 64
LARGEST_COUNTERS = 256
"""Bytes of counters for each dispatch of a persistent kernel, and for its end."""
REPORTED = 5

_HEX_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ENTRY_POINT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FILE = re.compile(r"kernels/[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_PART_FILE = re.compile(r"fallback/[A-Za-z0-9_][A-Za-z0-9_.-]*\.tflite\Z")


def verify(plan: Plan, source: str = "the plan") -> None:
    """PlanError, naming `source` and every limit broken (the first few), unless all are kept."""
    found = list(islice(_problems(plan), REPORTED + 1))
    if found:
        more = ["..."] if len(found) > REPORTED else []
        lines = "".join(f"\n  {line}" for line in [*found[:REPORTED], *more])
        raise PlanError(f"{source} is not valid; compile the model again:{lines}")


def _problems(plan: Plan) -> Iterator[str]:
    # Each check relies on those before it, so the first that finds something is the last to run.
    for check in (_header, _infos, _kernels, _dispatches, _tensors, _host_tensors, _parts, _merged):
        found = False
        for problem in check(plan):
            found = True
            yield problem
        if found:
            return


def _header(plan: Plan) -> Iterator[str]:
    if plan.target not in TARGETS:
        yield f"target {plan.target!r} is none of {', '.join(TARGETS)}"
    if not _HEX_DIGEST.match(plan.fingerprint):
        yield f"fingerprint {plan.fingerprint!r} is not a SHA-256 digest"
    if len(plan.weights_sha256) != 32:
        yield f"the weights' digest has {len(plan.weights_sha256)} bytes instead of 32"
    memory = plan.memory
    for name, size in (
        ("arena", plan.arena_size),
        ("weights", plan.weights_size),
        ("naive memory", memory.naive),
        ("planned memory", memory.planned),
        ("least memory", memory.lower_bound),
    ):
        if not 0 <= size <= LARGEST_SIZE:
            yield f"the size of the {name} is {size} bytes"
    for name, records in (
        ("inputs", plan.inputs),
        ("outputs", plan.outputs),
        ("kernels", plan.kernels),
        ("dispatches", plan.dispatches),
        ("tensors", plan.tensors),
        ("variables", plan.variables),
        ("tensors of the host", plan.host_tensors),
        ("parts on LiteRT", plan.parts),
        ("persistent kernels", plan.persistent),
    ):
        if len(records) > LARGEST_COUNT:
            yield f"there are {len(records)} {name}"


def _infos(plan: Plan) -> Iterator[str]:
    yield from _info("input", plan.inputs)
    yield from _info("output", plan.outputs)
    for variable in plan.variables:
        if not 0 <= variable.size <= LARGEST_SIZE:
            yield f"the size of the variable {variable.name} is {variable.size} bytes"
        elif variable.content is not None:
            end = variable.content + variable.size
            if variable.content < 0 or end > plan.weights_size:
                yield f"the variable {variable.name} starts with bytes up to {end} of the weights"


def _info(kind: str, infos: Sequence[TensorInfo]) -> Iterator[str]:
    yield from _repeated(f"{kind}s are named", (info.name for info in infos))
    for info in infos:
        yield from _shape(f"{kind} {info.name}", info.shape, info.dtype, HOST_TYPES)
        if not isfinite(info.scale) or abs(info.zero_point) > LARGEST_SIZE:
            yield f"{kind} {info.name} has scale {info.scale}, zero point {info.zero_point}"


def _shape(
    name: str, shape: tuple[int, ...], dtype: str, types: Container[str] = DEVICE_TYPES
) -> Iterator[str]:
    if dtype not in types:
        yield f"{name} has type {dtype!r}"
    elif len(shape) > LARGEST_RANK or min(shape, default=0) < 0:
        yield f"{name} has shape {list(shape)}"
    elif prod(shape) * ITEM_SIZE > LARGEST_SIZE:
        yield f"{name} has shape {list(shape)}, which is more than {LARGEST_SIZE} bytes"


def _kernels(plan: Plan) -> Iterator[str]:
    yield from _repeated("kernels lie in", (kernel.file for kernel in plan.kernels))
    suffix = TARGETS[plan.target]
    for kernel in plan.kernels:
        if not _FILE.match(kernel.file) or not kernel.file.endswith(suffix):
            yield f"kernel file {kernel.file!r} is not of the form kernels/NAME{suffix}"
        yield from _kernel(kernel)
    for companion in plan.companions:
        if not _FILE.match(companion.file) or len(companion.sha256) != 32:
            yield f"companion file {companion.file!r} is not of the form kernels/NAME"


def _kernel(kernel: Kernel) -> Iterator[str]:
    if not _ENTRY_POINT.match(kernel.name):
        yield f"{kernel.file}: {kernel.name!r} cannot be an entry point"
    if len(kernel.sha256) != 32:
        yield f"{kernel.file}: its digest has {len(kernel.sha256)} bytes instead of 32"
    if min(kernel.group) < 1 or prod(kernel.group) > LARGEST_GROUP:
        yield f"{kernel.file}: its work-group is {list(kernel.group)}"
    elif kernel.sub_group < 0 or (kernel.sub_group and prod(kernel.group) % kernel.sub_group):
        yield f"{kernel.file}: its sub-groups of {kernel.sub_group} do not divide its work-group"


def _dispatches(plan: Plan) -> Iterator[str]:
    for index, dispatch in enumerate(plan.dispatches):
        yield from _dispatch(plan, dispatch, f"dispatch {index} ({dispatch.label})")


def _dispatch(plan: Plan, dispatch: Dispatch, name: str) -> Iterator[str]:
    if not 0 <= dispatch.kernel < len(plan.kernels):
        yield f"{name} launches kernel {dispatch.kernel} of {len(plan.kernels)}"
        return
    group = plan.kernels[dispatch.kernel].group
    for items, per_group in zip(dispatch.grid, group, strict=True):
        if not 1 <= items <= LARGEST_GRID or items % per_group:
            yield f"{name} has grid {list(dispatch.grid)} for work-groups of {list(group)}"
            break
    if not 0 <= dispatch.flops < 1 << 63:
        yield f"{name} counts {dispatch.flops} operations"
    if len(dispatch.arguments) > LARGEST_ARGUMENTS:
        yield f"{name} has {len(dispatch.arguments)} arguments"
    for position, argument in enumerate(dispatch.arguments):
        yield from _argument(plan, argument, f"{name}: argument {position}")


def _argument(plan: Plan, argument: Argument, name: str) -> Iterator[str]:
    yield from _span(plan, argument, name)
    if argument.writes and argument.region in (Region.WEIGHTS, Region.INPUT):
        yield f"{name} writes to the {_region(argument)}"
    if argument.texel not in TEXELS or (argument.texel and argument.writes):
        yield f"{name} {'writes' if argument.writes else 'reads'} texels of {argument.texel} bytes"
    elif argument.texel and (not argument.size or argument.size % argument.texel):
        yield f"{name} has {argument.size} bytes, which are no texels of {argument.texel}"


def _span(plan: Plan, span: Argument | PlacedTensor, name: str) -> Iterator[str]:
    try:
        if span.index < 0:
            raise IndexError(span.index)
        available = region_size(plan, span.region, span.index)
    except IndexError:
        yield f"{name} lies in the {_region(span)}, which does not exist"
        return
    if span.offset < 0 or span.size < 0 or span.offset + span.size > available:
        yield (
            f"{name} covers bytes {span.offset} to {span.offset + span.size} of the "
            f"{_region(span)}, which has {available}"
        )


def _region(span: Argument | PlacedTensor) -> str:
    numbered = span.region in (Region.INPUT, Region.OUTPUT, Region.STATE) or span.index
    return span.region.name.lower() + (f" {span.index}" if numbered else "")


def _tensors(plan: Plan) -> Iterator[str]:
    for tensor in plan.tensors:
        yield from _tensor(plan, tensor)


def _tensor(plan: Plan, tensor: PlacedTensor) -> Iterator[str]:
    name = f"tensor {tensor.name}"
    yield from (broken := list(_shape(name, tensor.shape, tensor.dtype)))
    yield from _span(plan, tensor, name)
    count = len(plan.dispatches)
    if not (-1 <= tensor.first <= count and -1 <= tensor.last <= count):
        yield f"{name} lives from dispatch {tensor.first} to {tensor.last} of {count}"
    if broken:
        return
    if not 0 <= tensor.lanes <= LARGEST_SLICE or (tensor.lanes and len(tensor.shape) > 4):
        yield f"{name} of rank {len(tensor.shape)} is stored in slices of {tensor.lanes}"
        return
    elements = prod(slices(tensor) if tensor.lanes else tensor.shape)
    if elements * (ITEM_SIZE // 2 if tensor.half else ITEM_SIZE) > tensor.size:
        yield f"{name} of shape {list(tensor.shape)} does not fit in its {tensor.size} bytes"


def _host_tensors(plan: Plan) -> Iterator[str]:
    for tensor in plan.host_tensors:
        name = f"tensor {tensor.name} of the host"
        yield from _shape(name, tensor.shape, tensor.dtype, HOST_TYPES)
        for kind, index, infos in (
            ("input", tensor.input, plan.inputs),
            ("output", tensor.output, plan.outputs),
        ):
            if not -1 <= index < len(infos):
                yield f"{name} is {kind} {index} of {len(infos)}"
            elif index >= 0 and not _same(tensor, infos[index]):
                yield f"{name} has another shape or type than {kind} {infos[index].name}"
        if tensor.place is not None:
            yield from _host_place(plan, tensor, tensor.place, name)


def _same(tensor: HostTensor, info: TensorInfo) -> bool:
    return (tensor.shape, tensor.dtype, tensor.open) == (info.shape, info.dtype, info.open)


def _host_place(plan: Plan, tensor: HostTensor, place: Argument, name: str) -> Iterator[str]:
    yield from _argument(plan, place, name)
    if tensor.open or tensor.dtype not in DEVICE_TYPES:
        yield f"{name} is {tensor.dtype} of shape {list(tensor.shape)}, which no device holds"
    elif prod(tensor.shape) * ITEM_SIZE > place.size:
        yield f"{name} of shape {list(tensor.shape)} does not fit in its {place.size} bytes"


def _parts(plan: Plan) -> Iterator[str]:
    yield from _repeated("parts lie in", (part.file for part in plan.parts))
    written: set[int] = set()
    previous = 0
    for part in plan.parts:
        yield from _part(plan, part, previous)
        previous = part.before
        for index in (*part.inputs, *part.outputs):
            if not 0 <= index < len(plan.host_tensors):
                yield f"{part.file} has tensor {index} of {len(plan.host_tensors)}"
                return
        for index in part.inputs:
            tensor = plan.host_tensors[index]
            placed = tensor.place is not None and not tensor.place.writes
            if not (index in written or tensor.input >= 0 or placed):
                yield f"{part.file} reads tensor {tensor.name}, which nothing writes"
        for index in part.outputs:
            tensor = plan.host_tensors[index]
            placed = tensor.place is not None and not tensor.place.writes
            if index in written or tensor.input >= 0 or placed:
                yield f"{part.file} writes tensor {tensor.name}, which is written elsewhere"
            written.add(index)
    given = [plan.host_tensors[i].output for i in written if plan.host_tensors[i].output >= 0]
    yield from _repeated("parts give output", map(str, given))
    for index, info in enumerate(plan.outputs):
        if index not in given and (info.open or info.dtype not in DEVICE_TYPES):
            yield f"output {info.name} is {info.dtype}, which no device gives"


def _part(plan: Plan, part: HostPart, previous: int) -> Iterator[str]:
    if not _PART_FILE.match(part.file) or len(part.sha256) != 32:
        yield f"part file {part.file!r} is not of the form fallback/NAME.tflite"
    if not previous <= part.before <= len(plan.dispatches):
        yield f"{part.file} runs before dispatch {part.before} of {len(plan.dispatches)}"


def _merged(plan: Plan) -> Iterator[str]:
    free = 0
    stops = [part.before for part in plan.parts]
    for number, record in enumerate(plan.persistent):
        name = f"persistent kernel {number}"
        end = record.end
        if record.first < free or record.count < 1 or end > len(plan.dispatches):
            yield f"{name} computes dispatches {record.first} to {end - 1}, which is not possible"
            return
        free = end
        stop = bisect_right(stops, record.first)
        if stop < len(stops) and stops[stop] < end:
            yield f"{name} does not stop for a part on LiteRT"
        yield from _one_launch(plan, record, name)


def _one_launch(plan: Plan, record: Persistent, name: str) -> Iterator[str]:
    if not 0 <= record.kernel < len(plan.kernels):
        yield f"{name} is kernel {record.kernel} of {len(plan.kernels)}"
    elif plan.kernels[record.kernel].group != (1, 1, 1):
        yield f"{name} has work-groups of {list(plan.kernels[record.kernel].group)}"
    if not ITEM_SIZE <= record.counters <= LARGEST_COUNTERS * (record.count + 1):
        yield f"{name} has {record.counters} bytes of counters"
    if len(record.arguments) >= LARGEST_ARGUMENTS:
        yield f"{name} has {len(record.arguments)} arguments"
    for position, argument in enumerate(record.arguments):
        yield from _argument(plan, argument, f"{name}: argument {position}")


def _repeated(what: str, names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"two {what} {name!r}"
        seen.add(name)
