"""Operators that LiteRT computes on the stored integers, whatever they stand for."""

from ...ir import Tensor
from .lowering import INTEGERS, Lowering, lowers

QUOTIENTS = ("FLOOR_DIV", "FLOOR_MOD")


@lowers(*QUOTIENTS, "BITWISE_XOR", "RIGHT_SHIFT")
def of_stored_integers(here: Lowering) -> Tensor:
    """The operator on 32-bit integers.

    The quotient of the least integer and -1 is the greatest; LiteRT gives that or the least one.
    """
    op, result = here.op, here.op.output
    operands = [op.operand(0), op.operand(1)]
    if any(tensor.dtype != result.dtype for tensor in operands):
        raise here.declined("its operands and its result are of different types")
    if op.name in QUOTIENTS and result.dtype == "uint8":
        raise here.declined("LiteRT does not divide uint8")
    divisors = operands[1].data
    if op.name in QUOTIENTS and divisors is not None and not divisors.all():
        raise here.declined("it divides by a constant 0, at which LiteRT stops with an error")
    value = here.add(op.name, *(stored(here, tensor) for tensor in operands))
    if op.name == "FLOOR_DIV":
        most = here.constant(INTEGERS[result.dtype][1], "int32")
        value = here.add("MINIMUM", value, most)
    zero = here.zero(result)
    if zero:
        value = here.add("SUB", value, here.constant(zero, "int32"))
    return here.add("CAST", value, dtype="float32")


def stored(here: Lowering, tensor: Tensor) -> Tensor:
    if tensor.data is not None:
        return here.constant(tensor.data, "int32")
    value = here.add("CAST", here.centered(tensor), dtype="int32")
    zero = here.zero(tensor)
    return here.add("ADD", value, here.constant(zero, "int32")) if zero else value
