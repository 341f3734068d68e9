"""The plan for one choice of input shapes, assembled from the results of all stages."""

import json

from ...runtime.plan.records import Memory, Plan
from ..codegen.generated import Kernels
from ..codegen.persistent import merge
from ..codegen.translate import translate
from ..memory.allocation import Allocation
from ..options import Options
from ..version import compiler_version
from .compiled_model import CompiledModel
from .dispatches import dispatches, index_checks
from .host_parts import host_parts
from .tensors import inputs, kept_variables, outputs, placed
from .weights import Weights


def emit(
    allocation: Allocation, kernels: Kernels, weights: Weights, options: Options
) -> CompiledModel:
    """Assemble a model, whose constants are added to `weights`; `complete` adds these to it, and
    which model file it is for.

    ToolError if a program that the target needs is not installed.
    """
    sized, graph, target = allocation.arrangement.sized, allocation.graph, allocation.target
    events = (*sized.selected.events, *allocation.arrangement.events)
    weights = weights.continued(target.device.alignment, graph.release)
    dispatched = dispatches(kernels, allocation, weights)
    checks = tuple(index_checks(kernels, allocation, weights))
    kept = kept_variables(graph, weights)
    merged = merge(kernels, dispatched, target)
    records = (*kernels.records, *(item.kernel for item in merged))
    sources = {**kernels.sources, **{item.kernel.file: item.source for item in merged}}
    shipped = translate(records, sources, kernels.comments, options.target)
    host = host_parts(kernels.host_steps, allocation, options.custom_ops)
    arena = allocation.arena
    plan = Plan(
        compiler=compiler_version(),
        target=options.target,
        precision=options.precision,
        profile=target.device.name,
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
        tensors=tuple(placed(allocation, parts=bool(host.records))),
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
        sized.selected.fallback,
        sized.selected.operators,
        len(sized.used),
    )
