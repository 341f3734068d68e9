"""Whether the parts of a plan that run on LiteRT are valid, and the tensors they exchange."""

import re
from collections.abc import Iterator
from math import prod

from .limits import HOST_TYPES, check_argument, check_shape, check_unique
from .records import Argument, HostPart, HostTensor, Plan, TensorInfo
from .storage import DEVICE_TYPES, item_size

PART_FILE = re.compile(r"fallback/[A-Za-z0-9_][A-Za-z0-9_.-]*\.(tflite|npz)\Z")


def check_host_tensors(plan: Plan) -> Iterator[str]:
    for tensor in plan.host_tensors:
        name = f"host tensor {tensor.name}"
        yield from check_shape(name, tensor.shape, tensor.dtype, HOST_TYPES)
        for kind, index, infos in (
            ("input", tensor.input, plan.inputs),
            ("output", tensor.output, plan.outputs),
        ):
            if not -1 <= index < len(infos):
                yield f"{name} is {kind} {index}, but the plan has {len(infos)}"
            elif index >= 0 and not _matches(tensor, infos[index]):
                yield f"{name} differs in shape or dtype from {kind} {infos[index].name}"
        if tensor.place is not None:
            yield from _host_place(plan, tensor, tensor.place, name)


def _matches(tensor: HostTensor, info: TensorInfo) -> bool:
    return (tensor.shape, tensor.dtype, tensor.dynamic) == (info.shape, info.dtype, info.dynamic)


def _host_place(plan: Plan, tensor: HostTensor, place: Argument, name: str) -> Iterator[str]:
    yield from check_argument(plan, place, name)
    if tensor.dynamic:
        yield f"{name} is on the device, but its shape is only known after a run"
    elif tensor.dtype not in DEVICE_TYPES:
        yield f"{name} is on the device, but {tensor.dtype} is not held there"
    elif prod(tensor.shape) * item_size(tensor.dtype) > place.size:
        yield f"{name} of shape {list(tensor.shape)} does not fit in {place.size} bytes"


def check_parts(plan: Plan) -> Iterator[str]:
    yield from check_unique("parts in", (part.file for part in plan.parts))
    written: set[int] = set()
    previous = 0
    for part in plan.parts:
        yield from _part(plan, part, previous)
        previous = part.before
        for index in (*part.inputs, *part.outputs):
            if not 0 <= index < len(plan.host_tensors):
                count = len(plan.host_tensors)
                yield f"{part.file} uses host tensor {index}, but the plan has {count}"
                return
        for index in part.inputs:
            if index not in written and not _has_content(plan.host_tensors[index]):
                name = plan.host_tensors[index].name
                yield f"{part.file} reads host tensor {name} before it has been written"
        for index in part.outputs:
            if index in written or _has_content(plan.host_tensors[index]):
                name = plan.host_tensors[index].name
                yield f"{part.file} writes host tensor {name}, which is written elsewhere"
            written.add(index)
    outputs = [plan.host_tensors[index].output for index in written]
    computed = [output for output in outputs if output >= 0]
    yield from check_unique("parts computing output", map(str, computed))
    for index, info in enumerate(plan.outputs):
        if index not in computed and (info.dynamic or info.dtype not in DEVICE_TYPES):
            what = "dynamic" if info.dynamic else f"{info.dtype}, which no device holds,"
            yield f"output {info.name} is {what} and no part computes it"


def _has_content(tensor: HostTensor) -> bool:
    """Whether a host tensor has its content from elsewhere than a part."""
    return tensor.input >= 0 or (tensor.place is not None and not tensor.place.writes)


def _part(plan: Plan, part: HostPart, previous: int) -> Iterator[str]:
    ending = ".npz" if part.function else ".tflite"
    if not PART_FILE.match(part.file) or not part.file.endswith(ending):
        yield f"part file {part.file!r} is not of the form fallback/NAME{ending}"
    if not previous <= part.before <= len(plan.dispatches):
        yield f"{part.file} runs before dispatch {part.before}, out of order"
