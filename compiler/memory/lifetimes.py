"""When memory is in use: the dispatches between which each group of tensors is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..codegen.epilogue import steps
from ..ir import Graph, Op, Tensor
from ..ops import Kernel
from ..ops.base import Launch
from ..ops.litert_part import LITERT, host_only
from .aliases import Sharing

Spans = dict[Tensor, tuple[int, int]]
"""First and last dispatch that touch a group, by the tensor that stands for it."""


@dataclass(frozen=True)
class Step:
    """An operator, its kernel and what it launches, in the order of execution."""

    op: Op
    kernel: Kernel
    launches: tuple[Launch, ...]


def touched(step: Step, launch: Launch) -> Iterator[Tensor]:
    """What a launch reads, its post-operators included, and what it writes."""
    yield from launch.reads.values()
    yield from (t for s in steps(step.op) for t in s.operands if isinstance(t, Tensor))
    yield from step.op.early
    yield from launch.writes.values()


def lifetimes(graph: Graph, plan: Iterable[Step], sharing: Sharing) -> Spans:
    """First and last dispatch that touch each group."""
    spans: Spans = {}
    number = 0
    for step in plan:
        on_host = step.op.name == LITERT
        for launch in step.launches:
            for tensor in touched(step, launch):
                if not tensor.constant and not (on_host and host_only(graph, tensor)):
                    root = sharing.root(tensor)
                    spans[root] = (spans.get(root, (number,))[0], number)
            number += not on_host  # what runs on the host comes before the next dispatch
    for tensor in graph.inputs:
        root = sharing.root(tensor)
        spans[root] = (-1, spans.get(root, (-1, -1))[1])
    for tensor in (*graph.outputs, *graph.kept):
        root = sharing.root(tensor)
        spans[root] = (spans.get(root, (-1, -1))[0], number)
    return spans
