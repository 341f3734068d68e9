"""Operators of more tensors than the device has buffers, of which all operands become one."""

from ...ops.attention.gated_delta import GATED_DELTA_OF_ONE, NAME
from ...ops.buffers import too_many_in_some
from .decomposition import Decomposition, Results, decomposes


@decomposes(NAME)
def gated_delta_of_one(here: Decomposition) -> Results | str:
    """The operands follow each other in a tensor, and so do both results."""
    op = here.op
    if too_many_in_some(op, here.target) is None:
        return "the device has enough buffers"
    shapes = [tensor.shape for tensor in op.reads]
    flat = [here.reshape(tensor, (tensor.elements,)) for tensor in op.reads]
    joined = here.add("CONCATENATION", *flat, axis=0)
    both = here.add(GATED_DELTA_OF_ONE, joined, shapes=shapes)
    first = op.output.elements
    parts = ([0], [first]), ([first], [op.outputs[1].elements])
    results = (here.slice(both, *part) for part in parts)
    return [here.reshape(each, t.shape) for each, t in zip(results, op.outputs, strict=True)]
