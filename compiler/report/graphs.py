"""The two graphs that the report draws: the model file's operators, and the compiled kernels.

Blocks of operators that occur several times are collapsed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...runtime.plan.records import HostTensor, Plan, TensorInfo, Variable
from ..ir import Graph, Tensor
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


SHORTEST, LONGEST = 2, 64  # Operators of a block.
KINDS = 8  # Most kinds of blocks.
# Operators that a kind must save, at least, when each of its blocks is shown as one node.
WORTH = 4


@dataclass(frozen=True)
class Block:
    """A run of operators that occurs elsewhere, too."""

    kind: int  # Blocks of the same operators have the same kind.
    number: int  # Which of its kind it is, from 0.
    of: int  # How many there are of its kind.
    start: int  # Position of its first operator.
    length: int


def repeated_blocks(names: Sequence[str]) -> list[Block]:
    """The blocks in a sequence of operator names, in order; they do not overlap.

    The kind whose blocks hide most operators is taken first, the shortest among equals.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    sequence: list[int | None] = [numbers[name] for name in names]
    blocks: list[Block] = []
    for kind in range(KINDS):
        length, starts = _best(sequence)
        if not starts:
            break
        for number, start in enumerate(starts):
            blocks.append(Block(kind, number, len(starts), start, length))
            sequence[start : start + length] = [None] * length
    return sorted(blocks, key=lambda block: block.start)


def _best(sequence: Sequence[int | None]) -> tuple[int, list[int]]:
    """Length and starts of the run whose repetitions save most operators; no starts if none do."""
    best_saved, best_length, best_starts = WORTH - 1, 0, list[int]()
    for length in range(SHORTEST, min(LONGEST, len(sequence) // 2) + 1):
        for run, starts in _occurrences(sequence, length).items():
            saved = (length - 1) * (len(starts) - 1)
            if len(starts) > 1 and saved > best_saved and not _repeats(run):
                best_saved, best_length, best_starts = saved, length, starts
    return best_length, best_starts


def _occurrences(
    sequence: Sequence[int | None], length: int
) -> dict[tuple[int | None, ...], list[int]]:
    """Where each run of this length starts; occurrences of one run do not overlap."""
    found: dict[tuple[int | None, ...], list[int]] = {}
    for start in range(len(sequence) - length + 1):
        run = tuple(sequence[start : start + length])
        if None in run:
            continue
        starts = found.setdefault(run, [])
        if not starts or starts[-1] + length <= start:
            starts.append(start)
    return found


def _repeats(run: tuple[int | None, ...]) -> bool:
    """Whether a run is itself a shorter one several times over."""
    size = len(run)
    return any(
        run == run[:period] * (size // period)
        for period in range(1, size // 2 + 1)
        if size % period == 0
    )
