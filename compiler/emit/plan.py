"""The plan for one choice of input shapes, assembled from the results of all stages."""

import json

from ...runtime.plan.records import Memory, Plan
from ..codegen.generate import Kernels
from ..codegen.persistent import merge
from ..codegen.translate import translate
from ..memory.allocation import Allocation
from ..options import Options
from ..select.selected import Selected
from ..version import compiler_version
from .compiled_model import CompiledModel
from .dispatches import dispatches, index_checks
from .parts import host_parts
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
