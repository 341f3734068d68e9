"""Lifetimes: the dispatches between which each group of tensors must keep its memory."""

from collections.abc import Iterable, Iterator

from ..ir import Graph, Tensor
from ..ops.base.launch import Launch
from ..ops.elementwise.elementwise import read_in_store
from ..ops.litert_part import LITERT, host_only
from ..sizing.sizes import SizedOp
from .aliases import Aliases

# First and last dispatch that touch each group, by its root. Inputs are alive from -1 on, before
# dispatch 0; outputs until the number of dispatches.
Spans = dict[Tensor, tuple[int, int]]


def touched(sized: SizedOp, launch: Launch) -> Iterator[Tensor]:
    """The tensors that a launch reads, including its epilogue, and writes."""
    yield from launch.reads.values()
    yield from read_in_store(sized.op)
    yield from sized.op.early_outputs
    yield from launch.writes.values()


def lifetimes(graph: Graph, order: Iterable[SizedOp], aliases: Aliases) -> Spans:
    """First and last dispatch that touch each group."""
    spans: Spans = {}
    number = 0
    for sized in order:
        on_host = sized.op.name == LITERT
        for launch in sized.launches:
            for tensor in touched(sized, launch):
                if not tensor.constant and not (on_host and host_only(graph, tensor)):
                    root = aliases.root(tensor)
                    spans[root] = (spans.get(root, (number,))[0], number)
            number += not on_host  # a part on LiteRT runs before the next dispatch
    for tensor in graph.inputs:
        root = aliases.root(tensor)
        spans[root] = (-1, spans.get(root, (-1, -1))[1])
    for tensor in (*graph.outputs, *graph.kept):
        root = aliases.root(tensor)
        spans[root] = (spans.get(root, (-1, -1))[0], number)
    return spans
