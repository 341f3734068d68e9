"""Where the elements of a tensor come from, through operators that only move them."""

from collections.abc import Iterator
from math import prod

import numpy as np

from ...ir import Array, Graph, Op, Tensor
from ...ops import OPS, RESHAPES
from ...ops.move.slice import SLICES

# Operators each of whose results is an element of their first operand.
MOVES = frozenset(["BROADCAST_TO", "TRANSPOSE"]) | RESHAPES | SLICES

LARGEST = 1 << 22  # Most elements of a tensor that is traced.


def sources(graph: Graph, tensor: Tensor) -> Iterator[tuple[Tensor, Array, float]]:
    """The tensor, and those its elements come from, the nearest first.

    Each comes with the flat index in it of every element of `tensor`, and the number by which
    elements have been multiplied since.
    """
    places, factor = np.arange(tensor.elements).reshape(tensor.shape), 1.0
    while tensor.elements <= LARGEST:
        yield tensor, places, factor
        op = graph.producer(tensor)
        if op is None or op.epilogue or len(op.outputs) != 1:
            return
        source = op.operand(0)
        if op.name == "MUL" and op.operand(1).number is not None and source.shape == tensor.shape:
            factor *= op.operand(1).number
        elif op.name in MOVES and source.elements <= LARGEST:
            places = moved(op, np.arange(source.elements)).reshape(-1)[places]
        else:
            return
        tensor = source


def moved(op: Op, elements: Array) -> Array:
    """What an operator of `MOVES` makes of elements of its first operand."""
    if op.name in RESHAPES:
        return elements.reshape(op.output.shape)
    reference = OPS[op.name].reference
    assert reference is not None
    constants = [tensor.data for tensor in op.inputs[1:] if tensor is not None]
    arrays = [elements.reshape(op.operand(0).shape), *(c for c in constants if c is not None)]
    return np.asarray(reference(op, *arrays)).reshape(op.output.shape)


def followers(graph: Graph, tensor: Tensor) -> Iterator[tuple[Op, Array]]:
    """The operators that move a tensor, each the only reader of the one before.

    Each comes with the flat index in `tensor` of every element of its result.
    """
    places = np.arange(tensor.elements)
    op = graph.only_reader(tensor)
    while op is not None and op.name in MOVES and not op.epilogue and len(op.outputs) == 1:
        if op.operand(0) is not tensor or prod(op.output.shape) > LARGEST:
            return
        places = moved(op, places)
        yield op, places
        tensor = op.output
        op = graph.only_reader(tensor)
