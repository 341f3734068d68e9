"""aeq.hadamard_rotation, which spreads outliers before a row is quantized; shapes only."""

from ..ir import Op, Shape
from .base.definition import define


def rotated_entries(op: Op) -> int:
    """How many entries of a row, a power of two, are rotated together (ModelError)."""
    size, shape = op.attrs.get("hadamard_size", 0), op.operand(0).shape
    if not isinstance(size, int) or size < 1 or size & (size - 1):
        raise op.invalid(f"hadamard_size is {size!r}, not a power of two")
    if len(shape) not in (2, 3) or shape[-1] % size:
        raise op.invalid(f"{list(shape)} are not rows of multiples of {size}, with 1 or 2 axes")
    return size


def _infer(op: Op) -> list[Shape]:
    rotated_entries(op)
    return [op.operand(0).shape]


define("aeq.hadamard_rotation x -> y", _infer, note="becomes products with constant matrices")
