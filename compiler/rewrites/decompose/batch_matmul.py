"""A matrix product with constant weights is FULLY_CONNECTED, with computed ones BATCH_MATMUL."""

from __future__ import annotations

from ...ir import Tensor
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes


@decomposes("BATCH_MATMUL")
def constant_matrix(here: Decomposition) -> Tensor | str:
    """A product with a constant matrix on the right becomes FULLY_CONNECTED, which is faster."""
    op = here.op
    first, second = op.operand(0), op.operand(1)
    if second.data is None or first.data is not None:
        return "the second operand is not a constant, or both operands are"
    if any(size != 1 for size in second.shape[:-2]) or not second.elements:
        return "the second operand is not a single matrix"
    if not 2 <= len(first.shape) <= 4 or len(second.shape) > len(first.shape):
        return "the first operand's rank is not 2 to 4, or is below that of the second"
    if op.attrs.get("adj_x", False):
        rank = len(first.shape)
        first = here.transpose(first, (*range(rank - 2), rank - 1, rank - 2))
    matrix = second.data.reshape(second.shape[-2:])
    weights = here.constant(matrix if op.attrs.get("adj_y", False) else matrix.T)
    return here.add("FULLY_CONNECTED", first, weights, keep_num_dims=True)


@decomposes("FULLY_CONNECTED")
def computed_weights(here: Decomposition) -> Tensor | str:
    """A layer with computed weights becomes BATCH_MATMUL."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.constant:
        return bias_apart(here, 2)
    shape = op.output.shape
    rows = here.reshape(source, (-1, weights.shape[1]))
    result = here.add("BATCH_MATMUL", rows, weights, adj_x=False, adj_y=True)
    if bias is not None:
        result = here.add("ADD", result, here.reshape(bias, (bias.elements,)))
    return here.reshape(result, shape)
