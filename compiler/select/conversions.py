"""Conversions between storages, where a reader needs another storage than the writer's.

They complete the selection, from whose result kernels are generated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Finding
from ..events import Event
from ..ir import Graph, Op, Tensor
from ..ops import OPS
from ..ops.base.definition import Implementation
from ..ops.base.storage import LINEAR, SLICED
from ..ops.elementwise.centered import FROM_CENTERED
from ..ops.elementwise.convert import TO_LINEAR, TO_SLICED
from ..target import Target
from .legality import Candidates, candidates
from .storage import Choice, can_write_rows, written_storage


def insert_conversions(graph: Graph, choice: Choice, target: Target) -> dict[Tensor, str]:
    """Insert conversions, also into `choice`; returns the storage of all but constant tensors."""

    def convert(tensor: Tensor, storage: str, reader: Op | None) -> Tensor:
        name = TO_SLICED if storage == SLICED else TO_LINEAR
        converted = Tensor(
            f"{tensor.name}/{storage}",
            tensor.shape,
            tensor.dtype,
            whole=tensor.whole,
            kept=tensor.kept,
        )
        producer = graph.producer(tensor)
        near = producer or reader
        index, origins = producer.index if producer else -1, near.origins if near else ()
        op = graph.add(Op(name, (tensor,), (converted,), index=index, origins=origins))
        choice[op] = candidates(op, target).implementations[0]
        return converted

    for tensor in graph.tensors:
        if tensor.constant:
            continue
        have = written_storage(graph, tensor, choice)
        converted: Tensor | None = None
        for op in graph.consumers(tensor):
            chosen = choice[op]
            in_core = tensor in op.inputs and chosen.reads != have
            in_epilogue = tensor in op.epilogue_inputs and chosen.operands != have
            if in_core or in_epilogue:
                wanted = chosen.reads if in_core else chosen.operands
                converted = converted or convert(tensor, wanted, op)
                if in_core:
                    graph.replace_in_core(op, tensor, converted)
                if in_epilogue:
                    graph.replace_in_epilogue(op, tensor, converted)
        if have != LINEAR and graph.is_output(tensor):
            converted = converted or convert(tensor, LINEAR, None)
            graph.outputs = [converted if t is tensor else t for t in graph.outputs]
    _absorb(graph, choice, target)
    _absorb_integers(graph, choice, target)
    return {t: written_storage(graph, t, choice) for t in graph.tensors if not t.constant}


def _absorb(graph: Graph, choice: Choice, target: Target) -> None:
    """Let sliced kernels store their result row-major if that is all its readers need, or others
    that are made for it.

    A conversion to row-major that is the only reader of such a result is removed.
    """
    for op, producer in _only_readers(graph, TO_LINEAR):
        chosen = choice[producer]
        if can_write_rows(producer, choice):
            op.output.name = producer.output.name
            _take_over(graph, op, producer, choice)
            # Others would read what the epilogue reads row-major, too.
            alone = all(tensor.constant for tensor in producer.epilogue_inputs)
            found = candidates(producer, target).implementations if alone else ()
            others = (i for i in found if (i.reads, i.writes) == (chosen.reads, LINEAR))
            scattered = _storing(chosen, "to_linear", writes=LINEAR, computes=SLICED)
            choice[producer] = next(others, scattered)


def _absorb_integers(graph: Graph, choice: Choice, target: Target) -> None:
    """Let kernels store centered integers as those of the model if that is all their readers need.

    The tflgpu.from_centered that is the only reader of such a result is removed.
    """
    for op, producer in _only_readers(graph, FROM_CENTERED):
        chosen = choice[producer]
        computes_floats = producer.epilogue or not OPS[producer.name].traits.converts
        writes_rows = chosen.fuses and chosen.writes == LINEAR
        if computes_floats and writes_rows and len(producer.outputs) == 1:
            able = _able_to_store(op.output, producer, chosen, target)
            if able is not None:
                _take_over(graph, op, producer, choice)
                zero_point = op.attrs["zero_point"]
                choice[producer] = _storing(able, "to_integers", zero_point=zero_point)


def _able_to_store(
    result: Tensor, producer: Op, chosen: Implementation, target: Target
) -> Implementation | None:
    """The chosen implementation, or another one alike, that stores `result`; None if none does.

    Kernels that store slices of floats cannot store integers.
    """
    (own,) = producer.outputs
    producer.set_results((result,))
    others = candidates(producer, target).implementations
    alike = (i for i in others if (i.reads, i.writes) == (chosen.reads, LINEAR))
    able = [i for i in (chosen, *alike) if not i.unsupported_reason(producer, target)]
    producer.set_results((own,))
    return able[0] if able else None


def _only_readers(graph: Graph, name: str) -> Iterator[tuple[Op, Op]]:
    """The operators with a name that alone read a result, and what computes it."""
    for op in graph.ops:
        producer = graph.producer(op.operand(0)) if op.name == name else None
        if producer is not None and graph.only_reader(op.operand(0)) is op:
            yield op, producer


def _take_over(graph: Graph, op: Op, producer: Op, choice: Choice) -> None:
    """Let `producer` compute what `op` makes of its result."""
    result = op.output
    graph.remove(op)
    del choice[op]
    graph.set_outputs(producer, (result,))


def _storing(implementation: Implementation, suffix: str, **stores: Any) -> Implementation:
    """An implementation that stores its result in another way, with a name of its own."""
    return replace(implementation, name=f"{implementation.name}_{suffix}", **stores)


@dataclass(frozen=True)
class Selected:
    """A rewritten graph with an implementation per operator and a storage per tensor."""

    graph: Graph
    target: Target
    choice: Choice  # The implementation chosen for each operator, conversions included.
    storages: Mapping[Tensor, str]  # The storage of each tensor that is not a constant.
    operators: int
    # Implementations of each operator, conversions not included.
    candidates: Mapping[Op, Candidates] = field(default_factory=dict)
    events: Sequence[Event] = ()  # Rewrites applied and declined.
    fallback: tuple[Finding, ...] = ()
