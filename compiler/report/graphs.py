"""The two graphs that the report draws: the model file's operators, and the compiled kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from ...runtime.plan.records import Plan, TensorInfo, Variable
from .blocks import repeated_blocks
from .dataflow import edges, steps
from .decisions import FileGraph

Json = dict[str, Any]


def kernel_nodes(plan: Plan) -> Json:
    """The graph of dispatches, and of parts on the host."""
    nodes = []
    for step in steps(plan):
        label = (plan.parts if step.kind == "part" else plan.dispatches)[step.index].label
        computes, _, tensor = label.partition(" -> ")
        nodes.append(_node(step.name, step.kind, step.index, computes, tensor))
    found = [(edge.source, edge.target, edge.shape) for edge in edges(plan)]
    return _graph(plan, nodes, found)


def file_nodes(plan: Plan, graph: FileGraph) -> Json:
    """The graph of the operators in the model file."""
    nodes = [
        {
            **_node(f"operator{op.index}", "operator", op.index, op.name, ""),
            "reads": op.inputs,
            "writes": op.outputs,
        }
        for op in graph.operators
    ]
    return _graph(plan, nodes, [(edge.source, edge.target, edge.shape) for edge in graph.edges])


def _node(name: str, kind: str, index: int, computes: str, tensor: str) -> Json:
    """`index` is the number of its dispatch, part, operator, input, output or variable."""
    return {"id": name, "kind": kind, "index": index, "title": computes, "tensor": tensor}


def _graph(
    plan: Plan, nodes: list[Json], found: Iterable[tuple[str, str, Sequence[int] | None]]
) -> Json:
    """A graph with nodes for the model's inputs, outputs and variables, and its blocks.

    A block is given by the position of its first node and its length.
    """
    linked = [(source, target, shape) for source, target, shape in found]
    ends = {name for source, target, _ in linked for name in (source, target)}

    def own(kind: str, items: Sequence[TensorInfo | Variable]) -> list[Json]:
        made = [_node(f"{kind}{i}", kind, i, kind, item.name) for i, item in enumerate(items)]
        return [node for node in made if node["id"] in ends]

    given = own("input", plan.inputs) + own("variable", plan.variables)
    blocks = repeated_blocks([node["title"].partition(" + ")[0] for node in nodes])
    moved = [replace(block, start=block.start + len(given)) for block in blocks]
    return {
        "nodes": [*given, *nodes, *own("output", plan.outputs)],
        "edges": linked,
        "blocks": [asdict(block) for block in moved],
    }
