"""Truth values of floats that only choose between floats are floats: kernels need not store them.

    m = GREATER(x, a)   n = LOGICAL_NOT(m)   y = SELECT_V2(n, b, c)
    becomes   m = tflgpu.greater(x, a)   n = tflgpu.logical_not(m)   y = tflgpu.select(n, b, c)

Slices and epilogues hold floats alone, so that a comparison of integers or of truth values is a
kernel that stores what it finds, and a selection another one that reads it.
"""

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ir.connected import reached
from ...ops.elementwise.logic import LOGIC
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

# What computes truth values from others, and what does so in floats.
LOGICAL = {
    "LOGICAL_AND": "MUL",
    "LOGICAL_OR": "MAXIMUM",
    "LOGICAL_NOT": "tflgpu.logical_not",
    "EQUAL": "tflgpu.equal",
    "NOT_EQUAL": "tflgpu.not_equal",
    "RESHAPE": "RESHAPE",
}

COMPARED = {name: f"tflgpu.{name.lower()}" for name in LOGIC if not name.startswith("LOGICAL_")}

SELECTED = {"SELECT": "tflgpu.select", "SELECT_V2": "tflgpu.select"}


@graph_rewrite()
def truth_in_floats(graph: Graph, target: Target) -> Attempts:
    """Truth values that depend on each other change together, or not at all.

    Before elementwise fusion.
    """
    seen: set[Tensor] = set()
    for op in graph.ops:
        if op.name not in COMPARED or op.operand(0).dtype != "float32" or op.output in seen:
            continue
        ops, tensors = _region(graph, op)
        seen |= tensors
        found = (_unsupported_reason(graph, each, tensors) for each in ops)
        given = any(graph.producer(tensor) is None for tensor in tensors)
        reason = "a truth value is given" if given else next(filter(None, found), None)
        if (yield Attempt(tuple(ops), reason)):
            _change(graph, ops, tensors)


def _region(graph: Graph, comparison: Op) -> tuple[list[Op], set[Tensor]]:
    """The truth values that are computed from those of a comparison or beside them, and all
    operators that compute or read one, in order of execution."""

    def touching(tensor: Tensor) -> list[Op]:
        return [*graph.producers([tensor]), *graph.consumers(tensor)]

    def near(tensor: Tensor) -> list[Tensor]:
        found = (each for op in touching(tensor) for each in (*op.reads, *op.outputs))
        return [each for each in found if each.dtype == "bool" and not each.constant]

    tensors = set(reached([comparison.output], near))
    ops = {op for tensor in tensors for op in touching(tensor)}
    return [op for op in graph.ops if op in ops], tensors


def _unsupported_reason(graph: Graph, op: Op, tensors: set[Tensor]) -> str | None:
    """Why an operator cannot have its truth values in floats."""
    result = op.output if len(op.outputs) == 1 else None
    if result in tensors:
        if graph.is_output(result):
            return "a truth value is an output of the model"
        kinds, reads = {tensor.dtype for tensor in op.reads}, not tensors.isdisjoint(op.reads)
        if op.name in (COMPARED if kinds == {"float32"} else LOGICAL if reads else ()):
            return None
        return f"{op.name} computes truth values of {' and '.join(sorted(kinds))}"
    if op.name in SELECTED and result is not None and result.dtype == "float32":
        rows = op.name == "SELECT" and len(op.operand(0).shape) < len(result.shape)
        return "the condition of SELECT chooses rows" if rows else None
    if op.name == "CAST" and result is not None and result.dtype == "float32":
        return None
    return f"{op.name} reads truth values"


def _change(graph: Graph, ops: list[Op], tensors: set[Tensor]) -> None:
    for op in ops:
        if op.output in tensors:
            names = COMPARED if tensors.isdisjoint(op.reads) else LOGICAL
            op.name = names[op.name]
            if op.name != "RESHAPE":
                graph.set_inputs(op, map(_in_floats, op.inputs))
                op.attrs = {}
        elif op.name in SELECTED:
            op.name = SELECTED[op.name]
        elif graph.is_output(op.output):
            op.name, op.attrs = "tflgpu.copy", {}
        else:
            graph.bypass(op)
    for tensor in tensors:
        tensor.dtype = "float32"


def _in_floats(tensor: Tensor | None) -> Tensor | None:
    """A constant truth value as a float; whatever else is one, or becomes one."""
    if tensor is None or tensor.data is None or tensor.dtype == "float32":
        return tensor
    return constant(tensor.name, np.asarray(tensor.data, np.float32))
