"""The plan for one choice of input shapes, assembled from the results of all stages.

Parts on the host have files of their own, and exchange tensors.
"""

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass

from ...runtime.cache.variant import FALLBACK
from ...runtime.plan.records import HostPart, HostTensor, Memory, Plan
from ..codegen.generate import Kernels
from ..codegen.persistent import merge
from ..codegen.translate import translate
from ..ir import Graph, Op, Tensor
from ..litert.parts import function_file, part_file, part_inputs
from ..memory.allocation import Allocation
from ..ops.litert_part import LITERT, host_only
from ..options import Options
from ..select.conversions import Selected
from ..version import compiler_version
from .compiled_model import CompiledModel
from .dispatches import dispatches, index_checks
from .tensors import inputs, kept_variables, outputs, placed
from .weights import Weights


def emit(
    selected: Selected,
    kernels: Kernels,
    allocation: Allocation,
    weights: Weights,
    options: Options,
    tuned: int,
) -> CompiledModel:
    """Assemble a model, whose constants are added to `weights`; `complete` adds these to it, and
    which model file it is for.

    `tuned` is the number of kernels with sizes from a tuning table. ToolError if a program that the
    target needs is not installed.
    """
    graph, events = selected.graph, (*selected.events, *allocation.arrangement.events)
    weights = weights.continued(graph.release)
    dispatched = dispatches(kernels, allocation, weights)
    checks = tuple(index_checks(kernels, allocation, weights))
    kept = kept_variables(graph, weights)
    merged = merge(kernels, dispatched, allocation.target)
    records = (*kernels.records, *(item.kernel for item in merged))
    sources = {**kernels.sources, **{item.kernel.file: item.source for item in merged}}
    shipped = translate(records, sources, kernels.comments, options.target)
    host = host_parts(graph, kernels.host_steps, allocation, options.custom_ops)
    arena = allocation.arena
    plan = Plan(
        compiler=compiler_version(),
        target=options.target,
        precision=options.precision,
        profile=allocation.target.device.name,
        model="",
        fingerprint="",
        options="",
        passes=json.dumps([event.as_dict() for event in events]),
        inputs=inputs(graph),
        outputs=outputs(graph),
        arena_size=arena.total,
        weights_size=0,
        weights_sha256=b"",
        kernels=shipped.kernels,
        dispatches=dispatched,
        tensors=tuple(placed(graph, allocation, parts=bool(host.records))),
        memory=Memory(arena.naive, arena.total, arena.lower_bound),
        variables=kept,
        companions=shipped.records,
        host_tensors=host.tensors,
        parts=host.records,
        persistent=tuple(item.record for item in merged),
        index_checks=checks,
    )
    return CompiledModel(
        plan,
        shipped.sources,
        memoryview(b""),
        {**shipped.companions, **host.contents},
        events,
        selected.fallback,
        selected.operators,
        tuned,
    )


@dataclass(frozen=True)
class HostParts:
    """The parts on LiteRT, for the plan and its folder."""

    records: tuple[HostPart, ...]
    tensors: tuple[HostTensor, ...]
    contents: Mapping[str, bytes]  # The model of each part, by file.


def host_parts(
    graph: Graph, before: Mapping[Op, int], allocation: Allocation, custom_ops: Container[str]
) -> HostParts:
    """The records and files of parts; `before` has the number of dispatches before each part.

    A single operator with a name in `custom_ops` is a function's.
    """
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
    tensors = tuple(_host_tensor(graph, tensor, allocation) for tensor in numbers)
    return HostParts(tuple(records), tensors, contents)


def _host_tensor(graph: Graph, tensor: Tensor, allocation: Allocation) -> HostTensor:
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
