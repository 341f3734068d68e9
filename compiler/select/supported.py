"""Which operators of a model the device can run, as they are or decomposed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..errors import Finding, UnsupportedError
from ..ir import Graph, Op, copies
from ..ir.connected import components
from ..ops.buffers import most_buffers
from ..rewrites import DECOMPOSE
from ..rewrites.decompose.resolve_variables import VARIABLES, unresolved_variable
from ..rewrites.quantized.lower_quantized import is_quantized
from ..target import Target
from .legality import finding

# Types that no kernel reads or writes; operators connected by them are decomposed together.
INNER_TYPES = frozenset(["bfloat16", "complex64", "int4", "variant"])


def unsupported(graph: Graph, target: Target) -> dict[Op, Finding]:
    """Every operator that cannot run on the target, and why.

    Operators without an implementation, with more operands than a kernel may have, and quantized
    ones are decomposed on trial in a scratch graph, each on its own or together with those it
    exchanges tensors of inner types with.
    """

    def wide(op: Op) -> bool:
        return most_buffers(op) > target.device.max_arguments

    found = dict(graph.set_aside)
    tried = []
    for op in graph.ops:
        if op.name in VARIABLES:
            reason = unresolved_variable(graph, op, target)
            if reason is not None:
                found.setdefault(op, reason)
        elif op not in found and (is_quantized(op) or wide(op) or finding(op, target)):
            tried.append(op)
    for ops in _together(graph, tried):
        reason = _trial(graph, ops, target)
        if reason is not None:
            for op in ops:
                found[op] = replace(reason, index=op.index, operator=op.name)
    return found


def _together(graph: Graph, ops: Iterable[Op]) -> Iterator[list[Op]]:
    """The operators, grouped by exchanged tensors of inner types."""

    def neighbours(op: Op) -> Iterator[Op]:
        for tensor in (*op.reads, *op.outputs):
            if tensor.dtype in INNER_TYPES:
                yield from (*graph.producers([tensor]), *graph.consumers(tensor))

    return (sorted(group, key=graph.ops.index) for group in components(ops, neighbours))


def _trial(graph: Graph, ops: list[Op], target: Target) -> Finding | None:
    """Why operators cannot run once decomposed; None if they can."""
    trial = Graph("trial")
    trial.subgraphs = graph.subgraphs
    copied, new = copies(ops)
    for op in copied:
        trial.add(op)
    computed = [tensor for op in ops for tensor in op.outputs]
    trial.inputs = [t for op in ops for t in op.reads if not t.constant and t not in computed]
    trial.outputs = [new[tensor] for tensor in computed if graph.leaves(tensor, ops)]
    try:
        for decompose in DECOMPOSE:
            decompose(trial, target)
    except UnsupportedError as error:
        return error.findings[0]
    return next(filter(None, (finding(op, target, lowered=True) for op in trial.ops)), None)
