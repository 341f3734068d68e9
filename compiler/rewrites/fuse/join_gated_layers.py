"""Two layers of the same rows, of which one reads the other's result where it stores, become one.

    g = { s = FULLY_CONNECTED(x, v) | g = tflgpu.silu(s) }
    y = { u = FULLY_CONNECTED(x, w) | y = MUL(u, g) }
    becomes   y = { s, u = FULLY_CONNECTED(x, [v; w]) | g = tflgpu.silu(s) | y = MUL(u, g) }

A work-item computes the same channels of both, so that what a gate lets through is never stored by
itself. The operator's attribute `layers` is how many it computes; its weights, biases and scales of
blocks are those of one after the other.
"""

from collections.abc import Sequence

from ...ir import FusedOp, Graph, Op, Tensor
from ...ops.layers.weights import computed_weights
from ...ops.matmul.fully_connected import OF_BLOCKS, shares_sums
from ...ops.matmul.normalized_product import NAME as NORMALIZED
from ...ops.matmul.normalized_product import read_again
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .fuse_elementwise import MOST
from .join_projections import joined_tables

LAYERS = ("FULLY_CONNECTED", OF_BLOCKS, NORMALIZED)


@graph_rewrite()
def join_gated_layers(graph: Graph, target: Target) -> Attempts:
    for op in graph.ops:
        if op not in graph or op.name not in LAYERS:
            continue
        for tensor in op.epilogue_inputs:
            first = graph.producer(tensor)
            if first is None or not _alike(first, op) or graph.only_reader(tensor) is not op:
                continue
            if (yield Attempt((first, op), _unsupported_reason(first, op, target))):
                _join(graph, first, op)
                break


def _alike(first: Op, second: Op) -> bool:
    """Whether two operators are layers of the same rows that differ in their weights alone."""
    return (
        first.name == second.name
        and first.operand(0) is second.operand(0)
        and dict(first.attrs) == dict(second.attrs)
        and [_shape(each) for each in _tables(first)] == [_shape(each) for each in _tables(second)]
        and first.operand(1).dtype == second.operand(1).dtype
    )


def _tables(op: Op) -> Sequence[Tensor | None]:
    """Weights and what else comes with them, but the bias, which may be left out."""
    return [each for position, each in enumerate(op.inputs) if position not in (0, 2)]


def _shape(tensor: Tensor | None) -> object:
    return None if tensor is None else tensor.shape


def _unsupported_reason(first: Op, second: Op, target: Target) -> str | None:
    """Why two layers should stay apart; None if they should become one."""
    for layer in (first, second):
        if len(layer.core) > 1 or len(layer.outputs) > 1 or "layers" in layer.attrs:
            return "a layer stores rows as well, or is two already"
        if reason := computed_weights(layer):
            return reason
    if second.name == NORMALIZED and (reason := read_again(second, target, layers=2)):
        return reason
    if len(first.ops) + len(second.ops) > MOST:
        return f"the kernel would compute more than {MOST} operators"
    operands = {each for op in (first, second) for each in op.reads if not each.constant}
    if len(operands) + 3 > target.device.max_arguments:
        return f"the kernel would need {len(operands) + 3} buffers"
    return shares_sums(second, target)


def _join(graph: Graph, first: Op, second: Op) -> None:
    both = (first, second)
    results = [op.core[-1].output for op in both]
    inputs = (second.operand(0), *joined_tables(both, results[1].name))
    origins = sorted({origin for op in both for origin in op.core[-1].origins})
    attrs = {**second.attrs, "layers": len(both)}
    core = Op(second.name, inputs, results, attrs, second.index, origins=origins)
    epilogue, outputs = (*first.epilogue, *second.epilogue), second.outputs
    for op in (second, first):
        graph.remove(op)
    graph.add(FusedOp(core.name, (core,), epilogue, outputs))
