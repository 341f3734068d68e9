"""Caches of keys and values stored in half precision, as slices are where the target says so, or as
they are in the model.

    v = tflgpu.update(c, row, place)   y = tflgpu.attention(q, k, v)   with c kept from run to run

Attention reads the whole cache in every run, and a decoder's caches take most of the memory beside
its weights.
"""

from collections.abc import Collection, Iterable, Mapping

from ..ir import Graph, Tensor
from ..ir.connected import reached
from ..ops import RESHAPES
from ..ops.attention.attention import NAME as ATTENTION
from ..ops.attention.attention import reads_rows
from ..ops.base.storage import FLOATS, HALF_LANE
from ..ops.indexing.update import IN_PLACE, no_rows
from ..target import Target


class UnlikeCaches(Exception):
    """Caches that one choice can store in half precision, and another one cannot."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(f"{', '.join(names)} differ from choice to choice")
        self.names = names


def check_alike(graphs: Iterable[Mapping[str, bool]]) -> None:
    """UnlikeCaches unless each variable is stored alike in all graphs, which say how."""
    stored: dict[str, set[bool]] = {}
    for graph in graphs:
        for name, halved in graph.items():
            stored.setdefault(name, set()).add(halved)
    names = [name for name, ways in stored.items() if len(ways) > 1]
    if names:
        raise UnlikeCaches(names)


def halve_caches(graph: Graph, target: Target, single: Collection[str] = ()) -> None:
    """Mark the variables that are caches, and what shares their memory, but those named in
    `single`.

    A cache is only updated, row by row where it lies, and read by attention, though not as a mask:
    a state that is computed again from what it was would lose more from step to step.
    """
    if target.on_processor:
        return
    for variable in graph.state:
        wanted = target.half or variable.dtype == HALF_LANE.dtype
        if not wanted or variable.name in single or variable in graph.contents:
            continue
        written = [value for value, state in graph.kept.items() if state is variable]
        shared = reached([variable], lambda tensor: _views(graph, tensor))
        if shared.keys() >= set(written) and all(_fits(graph, tensor, target) for tensor in shared):
            for tensor in shared:
                tensor.halved = True


def _views(graph: Graph, tensor: Tensor) -> list[Tensor]:
    """The tensors that share a tensor's memory: reshaped, or updated."""
    views = (op for op in graph.consumers(tensor) if op.name in (*RESHAPES, IN_PLACE))
    return [op.output for op in views if op.operand(0) is tensor]


def _fits(graph: Graph, tensor: Tensor, target: Target) -> bool:
    """Whether all that reads a tensor reads rows of halves, or writes them."""
    if tensor.kept or tensor.dtype not in FLOATS or tensor in graph.outputs:
        return False
    for op in graph.consumers(tensor):
        first = op.reads.count(tensor) == 1 and op.operand(0) is tensor
        if op.name in RESHAPES:
            fits = first and not op.epilogue
        elif op.name == IN_PLACE:
            fits = first and no_rows(op, target) is None
        else:
            others = (*op.inputs[3:], *op.epilogue_inputs)
            fits = op.name == ATTENTION and tensor not in others and reads_rows(op, target)
        if not fits:
            return False
    return True
