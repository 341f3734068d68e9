"""The graph in the model file and the compiler's choices, worked out again for the report.

A plan does not hold them, since the runtime needs neither. With the model file they follow from the
options in the plan, up to the choice of implementations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...runtime.errors import TflgpuError
from ...runtime.plan.records import Plan
from ..choices import each_choice
from ..errors import Finding
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..ir import Graph, Op, Tensor
from ..options import Options
from ..pipeline import Selected, select, target_of
from ..progress import Progress, silent
from ..sizing.sizes import size_operators
from ..target import Target
from ..tools.explain import ImplementationChoice, implementation_choices
from ..version import compiler_version
from .notes import options_of


@dataclass(frozen=True)
class FileOperator:
    """An operator of the model file."""

    index: int
    """Position in the model file."""
    name: str
    """Its TFLite name, such as CONV_2D."""
    inputs: tuple[str, ...]
    """Each input's name, dtype and shape; constants included."""
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class FileEdge:
    """A tensor that goes from one node of the file's graph to another."""

    source: str
    """Such as operator3 or input0."""
    target: str
    """Such as operator4 or output0."""
    shape: tuple[int, ...]


@dataclass(frozen=True)
class FileGraph:
    """The graph in the model file, before any rewrite."""

    operators: tuple[FileOperator, ...]
    edges: tuple[FileEdge, ...]


@dataclass(frozen=True)
class Decisions:
    """What the compiler decided about a model."""

    graph: FileGraph
    chosen: dict[tuple[int, ...], list[ImplementationChoice]]
    """By the indices in the model file of the operators that a kernel computes."""
    fallback: dict[int, Finding]
    """Why operators run on LiteRT, by their index."""
    note: str = ""
    """Why some of this may differ from what was compiled, or is missing; "" if nothing does."""


def decide(model: Model, plan: Plan, progress: Progress = silent) -> Decisions:
    """The decisions about the model that a plan was compiled from.

    Raises what reading a model raises. If the choices cannot be worked out, as with a device
    profile that is not here, only the graph is returned, with a note.
    """
    options, *_ = each_choice(model, _options(plan))
    graphs: list[FileGraph] = []

    def observe(stage: str, graph: Graph) -> None:
        if stage == "read":
            graphs.append(file_graph(graph))

    try:
        target = target_of(options)
        selected = select(model, options, target, progress, observe)
    except TflgpuError as error:
        shapes, signature = dict(options.input_shapes), options.signature_key or None
        graph = graphs[0] if graphs else file_graph(read(model, shapes, signature))
        reason = str(error).splitlines()[0]
        return Decisions(graph, {}, {}, f"Why kernels were chosen cannot be told: {reason}")
    version = compiler_version()
    note = (
        f"The model was compiled by tflgpu {plan.compiler}; the reasons are those of {version}."
        if plan.compiler != version
        else ""
    )
    return Decisions(
        graphs[0], _chosen(selected, target), {item.index: item for item in selected.fallback}, note
    )


def file_graph(graph: Graph) -> FileGraph:
    """The operators and edges of a graph as it was read."""
    sources: dict[Tensor, str] = {t: f"input{i}" for i, t in enumerate(graph.inputs)}
    operators, edges = [], []
    for op in graph.ops:
        node = f"operator{op.index}"
        edges += [
            FileEdge(sources[tensor], node, tensor.shape)
            for tensor in dict.fromkeys(op.reads)
            if tensor in sources
        ]
        sources |= dict.fromkeys(op.outputs, node)
        operators.append(_operator(op))
    edges += [
        FileEdge(sources[tensor], f"output{index}", tensor.shape)
        for index, tensor in enumerate(graph.outputs)
        if tensor in sources
    ]
    return FileGraph(tuple(operators), tuple(edges))


def _operator(op: Op) -> FileOperator:
    return FileOperator(
        op.index, op.name, tuple(map(_described, op.reads)), tuple(map(_described, op.outputs))
    )


def _described(tensor: Tensor) -> str:
    shape = " x ".join(map(str, tensor.shape)) or "scalar"
    constant = ", constant" if tensor.constant else ""
    return f"{tensor.name}: {tensor.dtype} {shape}{constant}"


def _options(plan: Plan) -> Options:
    """The options in a plan; its tuning table's digest stands for no file."""
    known = {item.name for item in fields(Options)} - {"tuning"}
    noted = options_of(plan)
    return Options(**{name: _tuples(noted[name]) for name in known & noted.keys()})


def _tuples(value: Any) -> Any:
    """A value from JSON with tuples for lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _chosen(
    selected: Selected, target: Target
) -> dict[tuple[int, ...], list[ImplementationChoice]]:
    found: dict[tuple[int, ...], list[ImplementationChoice]] = {}
    sized = size_operators(selected.graph, selected.choice, target)
    for choice in implementation_choices(selected, sized, target):
        choices = found.setdefault(tuple(origin.index for origin in choice.operators), [])
        if all(choice.implementation != item.implementation for item in choices):
            choices.append(choice)
    return found
