"""A copy of a model that rounds weights and tensors to half precision, for LiteRT to run.

t = CONV_2D(x, w, b)   y = RELU(t)
becomes
t = CONV_2D(x, half w, half b)   h = CAST(t): float16   r = CAST(h): float32   y = RELU(r)
"""

from collections.abc import Collection

import numpy as np

from ..frontend.writer import write
from ..ir import Array, Graph, Op, Tensor, constant

# What is rounded: a tensor, by its name, or the weights of an operator, by its index.
Rounding = str | int


def roundings(graph: Graph, stored: Collection[str]) -> dict[int, frozenset[Rounding]]:
    """What can be rounded of each operator, by its index, in the order of execution: the tensors
    that it reads and writes, of those `stored` in half precision, and its weights.
    """
    found = {}
    for op in graph.ops:
        own: set[Rounding] = {
            tensor.name for tensor in (*op.reads, *op.outputs) if _can_round(tensor, stored)
        }
        found[op.index] = frozenset(own | {op.index} if _has_weights(op) else own)
    return found


def rounded_copy(graph: Graph, rounded: Collection[Rounding]) -> bytes:
    """The copy as a model file; the graph is the copy from then on."""
    tensors = [tensor for tensor in graph.tensors if tensor.name in rounded]
    for op in graph.ops:
        if op.index in rounded:
            graph.set_inputs(op, [None if each is None else _halved(each) for each in op.inputs])
    for tensor in tensors:
        half = Tensor(f"{tensor.name}/half", tensor.shape, "float16")
        result = Tensor(f"{tensor.name}/rounded", tensor.shape)
        graph.replace(tensor, result)
        graph.add(Op("CAST", (tensor,), (half,)))
        graph.add(Op("CAST", (half,), (result,)))
    return write(graph)


def _can_round(tensor: Tensor, stored: Collection[str]) -> bool:
    """Whether a tensor is one of floats that a device stores in half precision."""
    return tensor.name in stored and tensor.dtype == "float32" and not tensor.variable


def _has_weights(op: Op) -> bool:
    """Whether an operator reads constants that kernels store in half precision."""
    if any(tensor.dtype != "float32" for tensor in op.outputs):
        return False
    return any(_is_weight(tensor) and tensor.elements > 1 for tensor in op.reads)


def _is_weight(tensor: Tensor) -> bool:
    return tensor.constant and tensor.dtype == "float32"


def _halved(tensor: Tensor) -> Tensor:
    """A constant of floats as half precision has it; any other tensor as it is."""
    if tensor.data is None or not _is_weight(tensor):
        return tensor
    return constant(f"{tensor.name}/half", _through_half(tensor.data))


def _through_half(values: Array) -> Array:
    """Floats as half precision has them, which are infinite beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)
