"""Whether a plan is valid: its records fit together, and each launch what it was generated for.

This protects from accidents, such as files of different plans or of different versions. It is no
defence against a plan that somebody made on purpose: a plan holds code, and is as trusted as a
program. The boundary is the cache, which only this user and root can write to.

The digest in plan.tflgpu only shows that the file is as it was written; what was written must also
make sense. The compiler validates a plan before writing it, the runtime after reading it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite, prod

from ..errors import PlanError
from .limits import (
    HOST_TYPES,
    LARGEST_ARGUMENTS,
    LARGEST_GRID,
    LARGEST_SIZE,
    check_argument,
    check_shape,
    check_size,
    check_span,
    check_unique,
)
from .records import (
    Argument,
    Dispatch,
    IndexCheck,
    Persistent,
    PlacedTensor,
    Plan,
    Specialization,
    TensorInfo,
)
from .seal import dispatch_seal, persistent_seal
from .storage import NARROW_SIZES, WORD, element_size, item_size, sliced_shape
from .validate_facts import check_facts, check_reaches, check_schedules
from .validate_parts import check_host_tensors, check_parts

# The suffix of kernel files for each target.
TARGETS = {"opencl": ".cl", "glsl": ".comp", "vulkan": ".comp", "metal": ".metal", "wgsl": ".wgsl"}

REPORTED = 5  # Problems listed in an error.

# Work-items of a dispatch, many more than a tensor of 2 GiB has elements.
LARGEST_DISPATCH = 1 << 36
LARGEST_GROUP = 1 << 16  # Work-items in a work-group.
LARGEST_SLICE = 64  # Channels in a slice.
# Bytes of a persistent kernel's counters for each dispatch, and as many again for its end.
LARGEST_COUNTERS = 256

HEX_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
ENTRY_POINT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
KERNEL_FILE = re.compile(r"kernels/[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
SPECIALIZATION_FOLDER = re.compile(r"choices/[1-9][0-9]{0,6}\Z")


def validate(plan: Plan, source: str = "the plan") -> None:
    """Raise a PlanError that names `source` and lists the first problems unless a plan is valid."""
    found = list(islice(_problems(plan), REPORTED + 1))
    if found:
        more = ["..."] if len(found) > REPORTED else []
        lines = "".join(f"\n  {line}" for line in [*found[:REPORTED], *more])
        raise PlanError(f"{source} is not valid; compile the model again:{lines}")


def _problems(plan: Plan) -> Iterator[str]:
    # Each check relies on the ones before it, so the first to find a problem is the last to run.
    for check in (
        *(_header, _interface, check_reaches, _kernels, _dispatches),
        *(_tensors, check_host_tensors, check_parts, _persistent, check_index_checks),
        *(check_facts, check_schedules, _specializations),
    ):
        found = False
        for problem in check(plan):
            found = True
            yield problem
        if found:
            return


def _header(plan: Plan) -> Iterator[str]:
    if plan.target not in TARGETS:
        known = ", ".join(TARGETS)
        yield f"target {plan.target!r} is not one of {known}; a newer tflgpu may know it"
    if not HEX_DIGEST.match(plan.fingerprint):
        yield f"fingerprint {plan.fingerprint!r} is not a SHA-256 digest"
    yield from check_size("the arena", plan.arena_size)
    yield from check_size("weights.bin", plan.weights_size)
    yield from check_size("memory.naive", plan.memory.naive)
    yield from check_size("memory.planned", plan.memory.planned)
    yield from check_size("memory.lower_bound", plan.memory.lower_bound)


def _interface(plan: Plan) -> Iterator[str]:
    """Inputs, outputs and variables."""
    yield from _infos("input", plan.inputs)
    yield from _infos("output", plan.outputs)
    for variable in plan.variables:
        yield from check_size(f"variable {variable.name}", variable.size)
        if variable.content is not None:
            end = variable.content + variable.size
            if variable.content < 0 or end > plan.weights_size:
                yield (
                    f"variable {variable.name} starts with bytes {variable.content} to {end} of "
                    f"the weights, which have {plan.weights_size}"
                )


def _infos(kind: str, infos: Sequence[TensorInfo]) -> Iterator[str]:
    yield from check_unique(f"{kind}s named", (info.name for info in infos))
    for info in infos:
        yield from check_shape(f"{kind} {info.name}", info.shape, info.dtype, HOST_TYPES)
        if not isfinite(info.scale) or abs(info.zero_point) > LARGEST_SIZE:
            yield f"{kind} {info.name} has scale {info.scale} and zero point {info.zero_point}"


def _specializations(plan: Plan) -> Iterator[str]:
    yield from check_unique("specializations in", (item.folder for item in plan.specializations))
    for item in plan.specializations:
        if not SPECIALIZATION_FOLDER.match(item.folder):
            yield f"the specialization in {item.folder!r} is not in a folder choices/NUMBER"
        yield from _infos(f"{item.folder}: input", item.inputs)
        yield from _infos(f"{item.folder}: output", item.outputs)
    choices: Sequence[Plan | Specialization] = (plan, *plan.specializations)
    first = {item.signature: item for item in reversed(choices)}
    for item in plan.specializations:
        own = first[item.signature]
        for kind, infos, others in (
            ("inputs", item.inputs, own.inputs),
            ("outputs", item.outputs, own.outputs),
        ):
            if [(info.name, info.dtype) for info in infos] != [(i.name, i.dtype) for i in others]:
                yield f"{item.folder} has other {kind} than its signature"
    chosen = [f"{item.signature} {[info.shape for info in item.inputs]}" for item in choices]
    yield from check_unique("choices of a signature and input shapes", chosen)


def _kernels(plan: Plan) -> Iterator[str]:
    yield from check_unique("kernels in", (kernel.file for kernel in plan.kernels))
    suffix = TARGETS[plan.target]
    for kernel in plan.kernels:
        if not KERNEL_FILE.match(kernel.file) or not kernel.file.endswith(suffix):
            yield f"kernel file {kernel.file!r} is not of the form kernels/NAME{suffix}"
        if not ENTRY_POINT.match(kernel.name):
            yield f"{kernel.file}: {kernel.name!r} cannot be the name of an entry point"
        if min(kernel.group) < 1 or prod(kernel.group) > LARGEST_GROUP:
            yield f"{kernel.file}: the work-group is {list(kernel.group)}"
        for body in kernel.bodies:
            if not 0 <= body.kernel < len(plan.kernels):
                yield f"{kernel.file}: the body of kernel {body.kernel}, of {len(plan.kernels)}"
    if list(plan.edits) != sorted(set(plan.edits)):
        yield f"the edited kernels are not in ascending order: {list(plan.edits)}"
    for index in plan.edits:
        if not 0 <= index < len(plan.kernels):
            yield f"kernel {index} is edited, but the plan has {len(plan.kernels)}"
    for companion in plan.companions:
        if not KERNEL_FILE.match(companion.file):
            yield f"companion file {companion.file!r} is not of the form kernels/NAME"


def _dispatches(plan: Plan) -> Iterator[str]:
    for index, dispatch in enumerate(plan.dispatches):
        yield from _dispatch(plan, dispatch, f"dispatch {index} ({dispatch.label})")


def _dispatch(plan: Plan, dispatch: Dispatch, name: str) -> Iterator[str]:
    if not 0 <= dispatch.kernel < len(plan.kernels):
        yield f"{name} runs kernel {dispatch.kernel}, but the plan has {len(plan.kernels)}"
        return
    group = plan.kernels[dispatch.kernel].group
    for items, per_group in zip(dispatch.grid, group, strict=True):
        if not 1 <= items <= LARGEST_GRID or items % per_group:
            yield f"{name} has grid {list(dispatch.grid)} for work-groups of {list(group)}"
            break
    if prod(dispatch.grid) > LARGEST_DISPATCH:
        yield f"{name} has grid {list(dispatch.grid)}, more than {LARGEST_DISPATCH} work-items"
    if not 0 <= dispatch.flops < 1 << 63:
        yield f"{name} counts {dispatch.flops} operations"
    if len(dispatch.arguments) > LARGEST_ARGUMENTS:
        yield f"{name} has {len(dispatch.arguments)} arguments; the limit is {LARGEST_ARGUMENTS}"
    kernel = plan.kernels[dispatch.kernel]
    if len(dispatch.arguments) != kernel.parameters:
        yield f"{name} has {len(dispatch.arguments)} arguments for {kernel.parameters} parameters"
    yield from (problems := list(_arguments(plan, dispatch.arguments, name)))
    if not problems and dispatch.seal != dispatch_seal(kernel, dispatch):
        yield f"{name} is not what {kernel.file} was generated for"


def _arguments(plan: Plan, arguments: Sequence[Argument], name: str) -> Iterator[str]:
    for position, argument in enumerate(arguments):
        yield from check_argument(plan, argument, f"{name}: argument {position}")


def _tensors(plan: Plan) -> Iterator[str]:
    for tensor in plan.tensors:
        yield from _tensor(plan, tensor)


def _tensor(plan: Plan, tensor: PlacedTensor) -> Iterator[str]:
    name = f"tensor {tensor.name}"
    yield from (broken := list(check_shape(name, tensor.shape, tensor.dtype)))
    yield from check_span(plan, tensor, name)
    count = len(plan.dispatches)
    if not (-1 <= tensor.first <= count and -1 <= tensor.last <= count):
        used = f"{name} is used from dispatch {tensor.first} to {tensor.last}"
        yield f"{used}, but the plan has {count}"
    if broken:
        return
    if not 0 <= tensor.lanes <= LARGEST_SLICE or (tensor.lanes and len(tensor.shape) > 4):
        yield f"{name} of rank {len(tensor.shape)} is stored in slices of {tensor.lanes} channels"
        return
    if tensor.stored and tensor.stored not in NARROW_SIZES:
        yield f"{name} is stored as {tensor.stored!r}"
        return
    elements = prod(sliced_shape(tensor) if tensor.lanes else tensor.shape)
    packed = tensor.lanes or tensor.stored
    bytes_each = element_size(tensor.stored) if packed else item_size(tensor.dtype)
    if elements * bytes_each > tensor.size:
        yield f"{name} of shape {list(tensor.shape)} does not fit in {tensor.size} bytes"


def _persistent(plan: Plan) -> Iterator[str]:
    free = 0
    stops = [part.before for part in plan.parts]
    for number, record in enumerate(plan.persistent):
        name = f"persistent kernel {number}"
        count, end = len(plan.dispatches), record.end
        if record.first < free or record.count < 1 or end > count:
            yield f"{name} computes dispatches {record.first} to {end - 1} of {count}"
            return
        free = end
        stop = bisect_right(stops, record.first)
        if stop < len(stops) and stops[stop] < end:
            yield f"{name} computes dispatches before and after a part on LiteRT"
        yield from _persistent_kernel(plan, record, name)


def _persistent_kernel(plan: Plan, record: Persistent, name: str) -> Iterator[str]:
    if not 0 <= record.kernel < len(plan.kernels):
        yield f"{name} runs kernel {record.kernel}, but the plan has {len(plan.kernels)}"
    elif plan.kernels[record.kernel].group != (1, 1, 1):
        yield f"{name} has work-groups of {list(plan.kernels[record.kernel].group)}"
    most = LARGEST_COUNTERS * (record.count + 1)
    if not WORD <= record.counters <= most:
        yield f"{name} has {record.counters} bytes of counters, not {WORD} to {most}"
    if len(record.arguments) >= LARGEST_ARGUMENTS:
        yield f"{name} has {len(record.arguments)} arguments; the limit is {LARGEST_ARGUMENTS - 1}"
    yield from (problems := list(_arguments(plan, record.arguments, name)))
    known = record.kernel < len(plan.kernels)
    if known and not problems and record.seal != persistent_seal(plan, record):
        yield f"{name} is not what {plan.kernels[record.kernel].file} was generated for"


def check_index_checks(plan: Plan) -> Iterator[str]:
    previous = 0
    for check in plan.index_checks:
        name = f"the indices {check.tensor} of {check.operator}"
        if not previous <= check.dispatch < len(plan.dispatches):
            count = len(plan.dispatches)
            yield f"{name} are checked before dispatch {check.dispatch} of {count}, out of order"
        previous = check.dispatch
        shaped = list(check_shape(name, check.shape, "int32"))
        yield from shaped
        yield from check_argument(plan, check.place, name)
        if not shaped:
            yield from _layout(check, name)


def _layout(check: IndexCheck, name: str) -> Iterator[str]:
    """Whether the runs of bytes and the limits fit the shape."""
    size, length, pitch = prod(check.shape) * WORD, check.length, check.pitch
    runs = size // max(length, 1)
    fits = runs * length == size and length % WORD == 0 and pitch % WORD == 0
    if size and not (fits and length <= pitch and (runs - 1) * pitch + length <= check.place.size):
        yield f"{name} of shape {list(check.shape)} do not fit in {check.place.size} bytes"
    entries = check.shape[-1] if check.shape else 1
    if len(check.limits) not in (1, entries):
        yield f"{name} of shape {list(check.shape)} have {len(check.limits)} limits"
