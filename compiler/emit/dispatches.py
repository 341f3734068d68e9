"""Dispatches: generated launches as the plan lists them, with the location of each argument.

And the checks of indices, each of which belongs to a dispatch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...runtime.plan.records import Dispatch, IndexCheck
from ..codegen.generate import findings
from ..codegen.generated import GeneratedLaunch, Kernels, computed
from ..errors import UnfitKernelError
from ..ir import Array, Op, Origin, Tensor
from ..memory.allocation import Allocation
from ..ops.base.definition import traits_of
from ..ops.base.launch import Constant
from ..ops.base.storage import SLICED, device_array, stored_array
from .weights import Weights, without_denormals


def dispatches(kernels: Kernels, allocation: Allocation, weights: Weights) -> tuple[Dispatch, ...]:
    """The dispatches of all launches; their constants are added to `weights`.

    UnfitKernelError for all that bind more of a buffer than the device takes.
    """
    found = tuple(_dispatch(launch, allocation, weights) for launch in kernels.launches)
    most = allocation.target.device.max_binding
    large = [
        finding
        for launch, dispatch in zip(kernels.launches, found, strict=True)
        for tensors, argument in zip(launch.rendered.tensors, dispatch.arguments, strict=False)
        if argument.size > most
        for finding in findings(
            launch.op,
            f"a kernel of it gets {argument.size} bytes of {_named(launch, tensors)} in one "
            f"buffer, of {most} that the device profile {allocation.target.device.name} allows",
        )
    ]
    if large:
        raise UnfitKernelError(large)
    return found


def _named(launch: GeneratedLaunch, tensors: Sequence[Tensor]) -> str:
    """The largest tensor of an argument; of constants that are joined, the largest of these."""
    constants = [each for each in launch.op.reads if each.constant]
    found = max(tensors or constants, key=lambda each: each.elements, default=None)
    return f"the tensor {found.name}" if found else "its constants"


def _dispatch(launch: GeneratedLaunch, allocation: Allocation, weights: Weights) -> Dispatch:
    rendered = launch.rendered
    parameters = rendered.source.parameters
    arguments = []
    for parameter, tensors in zip(parameters, rendered.tensors, strict=True):
        if not tensors:
            argument = weights.add(joined(rendered.constants, rendered.halved))
        elif tensors[0].constant:
            storage = SLICED if tensors[0] in launch.packed else launch.reads
            argument = weights.add(stored_array(tensors[0], storage, allocation.target))
        else:
            argument = allocation.argument(tensors, parameter.writes)
        arguments.append(replace(argument, texel=parameter.texel))
    if launch.sizes:
        arguments.append(weights.add(np.array(launch.sizes, np.int32)))
    written = zip(parameters, rendered.tensors, strict=True)
    result = next(tensors[0] for parameter, tensors in written if parameter.writes)
    return Dispatch(
        launch.kernel,
        rendered.grid,
        tuple(arguments),
        f"{computed(launch.op)} -> {result.name.split(';')[0]}",
        tuple(origin.index for origin in launch.op.origins),
        rendered.flops,
        rendered.why,
    )


def joined(constants: Sequence[Constant], halved: bool) -> Array:
    """Constants one after the other, in single or half precision, or as int32 bits if some are."""
    array = np.empty(sum(item.size for item in constants), np.float16 if halved else np.float32)
    start, whole = 0, False
    for item in constants:
        values = np.asarray(item).reshape(-1)
        place = array[start : start + item.size]
        if values.dtype == np.int32:
            place.view(np.int32)[:] = values
            whole = True
        else:
            place[:] = without_denormals(values)
        start += item.size
    return array.view(np.int32) if whole else array


def index_checks(
    kernels: Kernels, allocation: Allocation, weights: Weights
) -> Iterator[IndexCheck]:
    """A check of each tensor of indices, except for constants that are within bounds.

    Operators that only become GATHER, such as detections, compute indices within bounds themselves.
    """
    for dispatch, launch in enumerate(kernels.launches):
        origin = _origin(launch.op)
        for tensor, limits in launch.limits.items() if origin else ():
            if tensor.data is None:
                place = allocation.lies(tensor)
                _, layout = allocation.arrangement.aliases.locate(tensor)
                length, pitch = layout.length, layout.pitch
            elif np.all((tensor.data >= 0) & (tensor.data < np.array(limits))):
                continue
            else:
                place = weights.add(device_array(tensor.data))
                length = pitch = place.size
            span = (tensor.name, tensor.shape, place, length, pitch)
            yield IndexCheck(dispatch, str(origin), *span, tuple(limits))


def _origin(op: Op) -> Origin | None:
    """The operator of the model file whose indices an operator has; None if there is none."""
    indexing = (o for o in op.origins if traits_of(o.name).indexes)
    return next(indexing, None)
