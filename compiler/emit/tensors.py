"""Tensors as the plan lists them: inputs, outputs, variables, and placed tensors."""

from collections.abc import Iterator
from dataclasses import replace

from ...runtime.plan.records import PlacedTensor, TensorInfo, Variable
from ...runtime.plan.storage import WORD
from ..ir import Graph, Tensor
from ..memory.aliases import variables
from ..memory.allocation import Allocation
from ..ops.base.storage import SLICED, device_array, element_bytes, element_dtype, lane_of
from ..ops.litert_part import host_only
from ..target import Target
from .weights import Weights


def inputs(graph: Graph) -> tuple[TensorInfo, ...]:
    return tuple(map(_info, graph.inputs, graph.input_names))


def outputs(graph: Graph) -> tuple[TensorInfo, ...]:
    named = zip(graph.outputs, graph.output_names, strict=True)
    return tuple(replace(_info(tensor, name), dynamic=tensor.dynamic) for tensor, name in named)


def _info(tensor: Tensor, name: str) -> TensorInfo:
    quantization = tensor.quantization
    scale = quantization.scale[0] if quantization and quantization.scale else 0.0
    zero = quantization.zero_point[0] if quantization and quantization.zero_point else 0
    return TensorInfo(name, tensor.shape, tensor.dtype, scale, zero)


def kept_variables(graph: Graph, weights: Weights) -> tuple[Variable, ...]:
    """The tensors kept between runs; their initial content is added to `weights`."""
    found = []
    for tensor in variables(graph):
        content = graph.contents.get(tensor)
        place = None if content is None else weights.add(device_array(content)).offset
        size = tensor.elements * element_bytes(tensor)
        found.append(Variable(tensor.name, size, place))
    return tuple(found)


def placed(allocation: Allocation, parts: bool) -> Iterator[PlacedTensor]:
    """Contiguous tensors on the device; with `parts`, without those that LiteRT alone touches."""
    aliases, target = allocation.arrangement.aliases, allocation.target
    for tensor, storage in allocation.storages.items():
        root, layout = aliases.locate(tensor)
        if not layout.contiguous or (parts and host_only(allocation.graph, tensor)):
            continue
        where = allocation.lies(tensor)
        yield PlacedTensor(
            tensor.name,
            tensor.shape,
            tensor.dtype,
            target.lanes if storage == SLICED else 0,
            where.region,
            where.index,
            where.offset,
            where.size,
            *allocation.spans.get(root, (-1, -1)),
            *_stored(tensor, storage, target),
        )


def _stored(tensor: Tensor, storage: str, target: Target) -> tuple[str, int]:
    """The dtype of a tensor's elements in memory if its own does not say, and its base."""
    if storage == SLICED:
        lane = lane_of(tensor, target)
        return ("", 0) if lane.bytes == WORD else (lane.dtype, lane.base)
    if tensor.halved or tensor.whole is not None:
        return element_dtype(tensor), tensor.whole.row_base if tensor.whole else 0
    return "", 0
