"""The parts of a plan that run on LiteRT: their files, and the tensors that cross to them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...runtime.plan.records import Argument, HostPart, HostTensor
from ...runtime.store.variant import FALLBACK
from ..ir import Graph, Op, Tensor
from ..ops.litert_part import LITERT, Part, host_only, is_open


@dataclass(frozen=True)
class HostParts:
    """What a plan and its folder have of parts on LiteRT."""

    records: tuple[HostPart, ...]
    tensors: tuple[HostTensor, ...]
    contents: Mapping[str, bytes]
    """Each part's model by its file."""


def host_parts(
    graph: Graph, before: Mapping[Op, int], lies: Callable[[Tensor, bool], Argument]
) -> HostParts:
    """Of the operators that stand for parts, each with the number of dispatches before it.

    `lies` says where a tensor lies on the device.
    """
    numbers: dict[Tensor, int] = {}
    records, contents = [], {}
    for number, (op, dispatches) in enumerate(before.items()):
        part: Part = op.attrs["part"]
        content = part.file(op)
        file = f"{FALLBACK}/{number}.tflite"
        contents[file] = content
        read = [tensor for tensor in op.reads if not tensor.constant]
        records.append(
            HostPart(
                file,
                hashlib.sha256(content).digest(),
                dispatches,
                tuple(numbers.setdefault(tensor, len(numbers)) for tensor in read),
                tuple(numbers.setdefault(tensor, len(numbers)) for tensor in op.outputs),
                str(part),
                tuple(item.index for item in part.graph.ops),
            )
        )
    tensors = tuple(_host_tensor(graph, tensor, lies) for tensor in numbers)
    return HostParts(tuple(records), tensors, contents)


def _host_tensor(
    graph: Graph, tensor: Tensor, lies: Callable[[Tensor, bool], Argument]
) -> HostTensor:
    producer = graph.producer(tensor)
    written = producer is not None and producer.name == LITERT
    given = tensor in graph.inputs
    on_device = not given and not (written and host_only(graph, tensor))
    return HostTensor(
        tensor.name,
        tensor.shape,
        tensor.dtype,
        graph.inputs.index(tensor) if given else -1,
        graph.outputs.index(tensor) if written and tensor in graph.outputs else -1,
        lies(tensor, written) if on_device else None,
        producer is not None and is_open(producer, tensor),
    )
