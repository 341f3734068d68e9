"""Regions: what stays on the device between parts on LiteRT, and whether that is worth it.

A region is a set of connected operators of the device. Each costs its exchange with LiteRT: a
submission of its own, and copies of the tensors that cross. It gains at most the time that LiteRT
would take for its operators, which is estimated by their multiply-adds.

The rates were measured on two cores of an x86-64 server: XNNPACK computes 25 multiply-adds a
nanosecond, waking a driver takes 0.1 ms, and copies move 5 bytes a nanosecond.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ..ir import Graph, Op, Tensor
from ..ir.connected import components
from ..ops import OPS
from ..ops.base.definition import weights_of
from ..ops.base.storage import linear_bytes
from ..ops.litert_part import LITERT
from ..tflite_schema import OWN_PREFIX

EXCHANGE = 2_500_000  # Multiply-adds that LiteRT computes while a region is submitted.
PER_BYTE = 5  # Multiply-adds that LiteRT computes while a byte is copied.


@dataclass(frozen=True)
class Region:
    """Connected operators of the device, and what they exchange with operators on LiteRT."""

    ops: Sequence[Op]
    crossing: Sequence[Tensor]  # The tensors that are copied.

    def loss(self) -> str | None:
        """Why the region is not worth its exchange with LiteRT; None if it is.

        None as well if it holds operators that TFLite does not have, such as for pictures.
        """
        if not self.crossing or any(op.name.startswith(OWN_PREFIX) for op in self.ops):
            return None
        work = sum(map(multiply_adds, self.ops))
        if not work:
            return "it only moves data to or from operators on LiteRT"
        size = sum(linear_bytes(tensor) for tensor in self.crossing)
        if work >= EXCHANGE + PER_BYTE * size:
            return None
        count = len(self.ops)
        return (
            f"its region of {count} operator{'s' * (count > 1)}, with {work:,} multiply-adds, is "
            f"not worth copying {size:,} bytes from and to LiteRT"
        )


def regions(graph: Graph, hosted: Container[Op]) -> Iterator[Region]:
    """The regions of a graph in which the operators `hosted` run on LiteRT."""
    own = [op for op in graph.ops if op not in hosted and op.name != LITERT]
    for ops in components(own, lambda op: [near for _, near in _edges(graph, op)]):
        edges = [edge for op in ops for edge in _edges(graph, op)]
        yield Region(ops, tuple(dict.fromkeys(tensor for tensor, near in edges if near in hosted)))


def _edges(graph: Graph, op: Op) -> Iterator[tuple[Tensor, Op]]:
    for tensor in op.outputs:
        for reader in graph.consumers(tensor):
            yield tensor, reader
    for tensor in op.reads:
        for producer in graph.producers([tensor]):
            yield tensor, producer


# -- estimates --------------------------------------------------------------------------------


def multiply_adds(op: Op) -> int:
    """About how many multiply-adds, or operations as costly, an operator computes."""
    if OPS[op.name].traits.moves:
        return 0
    if op.name in _MULTIPLY_ADDS:
        return _MULTIPLY_ADDS[op.name](op)
    elements = sum(tensor.elements for tensor in op.outputs)
    weights = weights_of(op)
    if weights is None:
        return elements
    filters = op.operand(1)
    return elements * filters.elements // max(1, filters.shape[weights.output_axis])


def _of_every_step(op: Op) -> int:
    """Each step of a recurrent operator multiplies by all weights."""
    return prod(op.operand(0).shape[:-1]) * sum(t.elements for t in op.reads if t.constant)


_MULTIPLY_ADDS: Mapping[str, Callable[[Op], int]] = {
    "BATCH_MATMUL": lambda op: op.output.elements * op.operand(0).shape[-1],
    "BIDIRECTIONAL_SEQUENCE_LSTM": _of_every_step,
    "BIDIRECTIONAL_SEQUENCE_RNN": _of_every_step,
    "LSTM": _of_every_step,
    "RNN": _of_every_step,
    "SVDF": _of_every_step,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _of_every_step,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _of_every_step,
}
