"""Rotations by Hadamard matrices are decomposed into products with small ones."""

import numpy as np

from ...ir import Array, Tensor
from ...ops.hadamard import rotated_entries
from .decomposition import Decomposition, decomposes
from .fourier import product

LARGEST = 128
"""Rows of the largest matrix that is multiplied as it is."""


@decomposes("aeq.hadamard_rotation")
def rotation(here: Decomposition) -> Tensor:
    """A product with a Hadamard matrix H, the Kronecker product of two smaller ones if it is large.

    y[a * b] = x[a * b] H   becomes   y[a, b] = H_a (x[a, b] H_b)
    """
    op = here.op
    size = rotated_entries(op)
    inner = size if size <= LARGEST else 1 << (size.bit_length() // 2)
    outer = size // inner
    rows = product(here, here.reshape(op.operand(0), (-1, outer, inner)), _hadamard(inner))
    if outer > 1:
        columns = product(here, here.transpose(rows, (0, 2, 1)), _hadamard(outer))
        rows = here.transpose(columns, (0, 2, 1))
    return here.reshape(rows, op.output.shape)


def _hadamard(size: int) -> Array:
    """Sylvester's matrix, scaled so that it is orthogonal; it is symmetric."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.asarray(matrix / np.sqrt(size))
