"""The limits a plan must keep, so that executing it can touch nothing outside its own buffers.

A plan's digest shows that its bytes are those the compiler wrote; these checks show that what was
written makes sense. The compiler runs them before it writes, the runtime after it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite, prod

from .errors import PlanError
from .plan import Argument, Dispatch, Kernel, PlacedTensor, Plan, Region, TensorInfo

DEVICE_TYPES = {
    "float32": "float32",
    "float16": "float32",
    "bool": "int32",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int32",
    "uint32": "int32",
    "int64": "int32",
}
"""Each type a tensor may have, and the type its elements have in memory of the device."""

ITEM_SIZE = 4
"""Bytes of an element in memory of the device, whatever its type."""

TARGETS = {"opencl": ".cl", "glsl": ".comp", "vulkan": ".comp", "metal": ".metal"}
"""The suffix of kernel files of each target."""

LARGEST_COUNT = 1 << 18
"""Elements any list of a plan may have."""
LARGEST_SIZE = 1 << 40
"""Bytes any buffer may have."""
LARGEST_GRID = (1 << 31) - 1
LARGEST_GROUP = 1 << 16
LARGEST_RANK = 32
LARGEST_ARGUMENTS = 128
LARGEST_SLICE = 64
BUFFER_GRANULE = 256
"""Bytes of which the buffers of inputs and outputs are multiples."""
REPORTED = 5

_HEX_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ENTRY_POINT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FILE = re.compile(r"kernels/[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")


def verify(plan: Plan, source: str = "the plan") -> None:
    """PlanError, naming `source` and every limit broken (the first few), unless all are kept."""
    found = list(islice(_problems(plan), REPORTED + 1))
    if found:
        more = ["..."] if len(found) > REPORTED else []
        lines = "".join(f"\n  {line}" for line in [*found[:REPORTED], *more])
        raise PlanError(f"{source} is not valid; compile the model again:{lines}")


def byte_size(info: TensorInfo) -> int:
    """Bytes of an input or output on the device: row-major and dense."""
    return prod(info.shape) * ITEM_SIZE


def slices(tensor: PlacedTensor) -> tuple[int, int, int, int, int]:
    """The extents in which a channel-sliced tensor is stored.

    [batch, slice, height, width, lane], its shape filled up with ones on the left to BHWC.
    """
    batch, height, width, channels = (1,) * (4 - len(tensor.shape)) + tensor.shape
    return (batch, -(-channels // tensor.lanes), height, width, tensor.lanes)


def whole_granules(size: int) -> int:
    """Bytes of the buffer of an input or output; the rest lets a last slice be stored whole."""
    return -(-size // BUFFER_GRANULE) * BUFFER_GRANULE


def region_size(plan: Plan, region: Region, index: int) -> int:
    """Bytes of the buffer an argument lies in; IndexError if there is no such buffer."""
    if region is Region.INPUT:
        return whole_granules(byte_size(plan.inputs[index]))
    if region is Region.OUTPUT:
        return whole_granules(byte_size(plan.outputs[index]))
    if region is Region.STATE:
        return whole_granules(plan.variables[index].size)
    if index:
        raise IndexError(index)
    return plan.arena_size if region is Region.ARENA else plan.weights_size


def _problems(plan: Plan) -> Iterator[str]:
    # Each check relies on those before it, so the first that finds something is the last to run.
    for check in (_header, _infos, _kernels, _dispatches, _tensors):
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
        yield from _shape(f"{kind} {info.name}", info.shape, info.dtype)
        if not isfinite(info.scale) or abs(info.zero_point) > LARGEST_SIZE:
            yield f"{kind} {info.name} has scale {info.scale}, zero point {info.zero_point}"


def _shape(name: str, shape: tuple[int, ...], dtype: str) -> Iterator[str]:
    if dtype not in DEVICE_TYPES:
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


def _repeated(what: str, names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"two {what} {name!r}"
        seen.add(name)
