"""The parts on LiteRT: what the plan says of them, and the file of each."""

import hashlib
from collections.abc import Container, Mapping
from dataclasses import dataclass

from ...runtime.cache.variant import FALLBACK
from ...runtime.plan.records import HostPart, HostTensor
from ..ir import Op, Tensor
from ..litert.parts import function_file, part_file, part_inputs
from ..memory.allocation import Allocation
from ..ops.litert_part import LITERT, host_only


@dataclass(frozen=True)
class HostParts:
    """The parts on LiteRT, for the plan and its folder."""

    records: tuple[HostPart, ...]
    tensors: tuple[HostTensor, ...]  # What they exchange.
    contents: Mapping[str, bytes]  # The model of each part, by file.


def host_parts(
    before: Mapping[Op, int], allocation: Allocation, custom_ops: Container[str]
) -> HostParts:
    """The records and files of parts; `before` has the number of dispatches before each part.

    A single operator with a name in `custom_ops` is a function's.
    """
    graph = allocation.graph
    numbers: dict[Tensor, int] = {}
    records, contents = [], {}
    for number, (op, count) in enumerate(before.items()):
        first = op.core[0].name
        function = first if len(op.core) == 1 and first in custom_ops else ""
        content = function_file(graph, op) if function else part_file(graph, op)
        file = f"{FALLBACK}/{number}.{'npz' if function else 'tflite'}"
        contents[file] = content
        records.append(
            HostPart(
                file,
                hashlib.sha256(content).digest(),
                count,
                tuple(numbers.setdefault(t, len(numbers)) for t in part_inputs(graph, op)),
                tuple(numbers.setdefault(t, len(numbers)) for t in op.outputs),
                " + ".join(inner.name for inner in op.core),
                tuple(origin.index for origin in op.origins),
                function,
            )
        )
    tensors = tuple(_host_tensor(tensor, allocation) for tensor in numbers)
    return HostParts(tuple(records), tensors, contents)


def _host_tensor(tensor: Tensor, allocation: Allocation) -> HostTensor:
    graph = allocation.graph
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
        allocation.lies(tensor, written) if on_device else None,
        tensor.dynamic,
    )
