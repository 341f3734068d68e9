"""Operators that LiteRT computes on the stored integers, whatever they stand for."""

from ...ir import Tensor
from .lowering import INTEGERS, Lowering, lowers

QUOTIENTS = ("FLOOR_DIV", "FLOOR_MOD")


@lowers(*QUOTIENTS, "BITWISE_XOR", "RIGHT_SHIFT")
def of_stored_integers(lowering: Lowering) -> Tensor:
    """The operator on 32-bit integers.

    The quotient of the least integer and -1 is the greatest; LiteRT gives that or the least one.
    """
    op, result = lowering.op, lowering.op.output
    operands = [op.operand(0), op.operand(1)]
    if any(tensor.dtype != result.dtype for tensor in operands):
        raise lowering.declined("its operands and its result are of different types")
    if op.name in QUOTIENTS and result.dtype == "uint8":
        raise lowering.declined("LiteRT does not divide uint8")
    divisors = operands[1].data
    if op.name in QUOTIENTS and divisors is not None and not divisors.all():
        raise lowering.declined("it divides by a constant 0, at which LiteRT stops with an error")
    value = lowering.add(op.name, *(stored(lowering, tensor) for tensor in operands))
    if op.name == "FLOOR_DIV":
        most = lowering.constant(INTEGERS[result.dtype][1], "int32")
        value = lowering.add("MINIMUM", value, most)
    zero = lowering.zero(result)
    if zero:
        value = lowering.add("SUB", value, lowering.constant(zero, "int32"))
    return lowering.add("CAST", value, dtype="float32")


def stored(lowering: Lowering, tensor: Tensor) -> Tensor:
    """The integers of a tensor, as int32."""
    if tensor.data is not None:
        return lowering.constant(tensor.data, "int32")
    value = lowering.add("CAST", lowering.centered(tensor), dtype="int32")
    zero = lowering.zero(tensor)
    return lowering.add("ADD", value, lowering.constant(zero, "int32")) if zero else value
