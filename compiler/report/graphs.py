"""The two graphs that the report draws: the model file's operators, and the compiled kernels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...runtime.plan.records import HostTensor, Plan, TensorInfo, Variable
from ..ir import Graph, Tensor
from .blocks import repeated_blocks
from .dataflow import Edge, edges, steps

Json = dict[str, Any]


@dataclass(frozen=True)
class FileGraph:
    """The graph in the model file, before any rewrite: its operators, and what links them."""

    nodes: list[Json]
    edges: list[Edge]


def file_graph(graph: Graph) -> FileGraph:
    sources: dict[Tensor, str] = {t: f"input{i}" for i, t in enumerate(graph.inputs)}
    nodes, found = [], []
    for op in graph.ops:
        node = _node(f"operator{op.index}", "operator", op.index, op.name, "")
        read = [tensor for tensor in dict.fromkeys(op.reads) if tensor in sources]
        found += [Edge(sources[tensor], node["id"], tensor.shape) for tensor in read]
        sources |= dict.fromkeys(op.outputs, str(node["id"]))
        both = {"reads": op.reads, "writes": op.outputs}
        nodes.append(node | {key: [*map(described, tensors)] for key, tensors in both.items()})
    found += [
        Edge(sources[tensor], f"output{index}", tensor.shape)
        for index, tensor in enumerate(graph.outputs)
        if tensor in sources
    ]
    return FileGraph(nodes, found)


def described(tensor: Tensor | HostTensor) -> str:
    """Name, dtype and shape."""
    shape = " x ".join(map(str, tensor.shape)) or "scalar"
    constant = ", constant" if isinstance(tensor, Tensor) and tensor.constant else ""
    return f"{tensor.name}: {tensor.dtype} {shape}{constant}"


def drawn_kernels(plan: Plan) -> Json:
    nodes = []
    for step in steps(plan):
        label = (plan.parts if step.kind == "part" else plan.dispatches)[step.index].label
        computes, _, tensor = label.partition(" -> ")
        nodes.append(_node(step.name, step.kind, step.index, computes, tensor))
    return drawn(plan, nodes, edges(plan))


def _node(name: str, kind: str, index: int, computes: str, tensor: str) -> Json:
    """`index` is the number of its dispatch, part, operator, input, output or variable."""
    return {"id": name, "kind": kind, "index": index, "title": computes, "tensor": tensor}


def drawn(plan: Plan, nodes: Sequence[Json], linked: Sequence[Edge]) -> Json:
    """A graph with the model's own nodes; a block is a first position and a length."""
    ends = {name for edge in linked for name in (edge.source, edge.target)}

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
