"""Arrays for the inputs of a model that is run to be measured or compared."""

from collections.abc import Callable, Mapping

import numpy as np

from ..runtime.errors import InputError
from ..runtime.plan.records import TensorInfo
from .ir import Array, Graph, Op, Shape, Tensor

# Integer inputs are mostly indices, and small ones are valid for most tables.
LARGEST_RANDOM_INTEGER = 8


def trial_input(info: TensorInfo) -> Array:
    """Random numbers in [-1, 1] for an input, always the same; integers are zeros, which are valid
    as indices, and strings are empty."""
    if info.dtype == "string":
        return np.full(info.shape, b"", object)
    if np.dtype(info.dtype).kind != "f":
        return np.zeros(info.shape, info.dtype)
    return np.random.default_rng(7).uniform(-1, 1, info.shape).astype(info.dtype)


def _indexed(shape: Shape, indices: Tensor) -> Shape:
    """The leading sizes, one for each column of the indices; none if a file does not say which."""
    return shape[: indices.shape[-1]] if indices.shape else ()


def _whole(shape: Shape, axis: int) -> Shape:
    """What lengths stay below that reach the end of an axis."""
    return tuple(size + 1 for size in shape[axis:][:1])


# Operators with places in a tensor: the operand that holds their indices, and what these must stay
# below.
LOOKUPS: Mapping[str, tuple[int, Callable[[Op], Shape]]] = {
    "GATHER": (1, lambda op: op.operand(0).shape[op.attrs.get("axis", 0) :][:1]),
    "GATHER_ND": (1, lambda op: _indexed(op.operand(0).shape, op.operand(1))),
    "EMBEDDING_LOOKUP": (0, lambda op: op.operand(1).shape[:1]),
    "REVERSE_SEQUENCE": (1, lambda op: _whole(op.operand(0).shape, op.attrs.get("seq_dim", 0))),
    "SCATTER_ND": (0, lambda op: _indexed(op.output.shape, op.operand(0))),
    "SPARSE_TO_DENSE": (0, lambda op: _indexed(op.output.shape, op.operand(0))),
    **{
        f"UNSORTED_SEGMENT_{kind}": (1, lambda op: op.output.shape[:1])
        for kind in ("MAX", "MIN", "PROD", "SUM")
    },
}


def largest_indices(graph: Graph) -> dict[str, int]:
    """The last index of the shortest axis that each input looks up, possibly after arithmetic."""
    last: dict[Tensor, int] = {}
    for op in reversed(graph.ops):
        # Whatever an index is computed of is taken to be one, too: small numbers are always valid.
        bounds = [last[output] for output in op.outputs if output in last]
        integers = [tensor for tensor in op.reads if "int" in tensor.dtype]
        bounded = {tensor: min(bounds) for tensor in integers if bounds}
        if op.name in LOOKUPS:
            position, limits = LOOKUPS[op.name]
            bounded[op.operand(position)] = min(limits(op), default=1) - 1
        for tensor, bound in bounded.items():
            last[tensor] = min(bound, last.get(tensor, bound))
    return {tensor.name: last[tensor] for tensor in graph.inputs if tensor in last}


def random_input(
    info: TensorInfo, generator: np.random.Generator, largest: int = LARGEST_RANDOM_INTEGER
) -> Array:
    """Normally distributed floats, 8-bit integers of the whole range, small positive wider ones.

    These are `largest` at most. Strings are the digits of small positive integers. InputError for
    complex inputs.
    """
    if info.dtype == "string":
        numbers = generator.integers(1, LARGEST_RANDOM_INTEGER, info.shape, endpoint=True)
        return numbers.astype(str).astype(object)
    dtype = np.dtype(info.dtype)
    if dtype.kind == "f":
        return generator.standard_normal(info.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    if dtype.kind not in "iu":
        raise InputError(
            f"input {info.name} is {info.dtype}, for which there are no random numbers; pass a "
            f".npy file"
        )
    if dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, info.shape, dtype, endpoint=True)
    last = max(0, min(largest, LARGEST_RANDOM_INTEGER))
    return generator.integers(min(1, last), last, info.shape, dtype, endpoint=True)
