"""Matrices with another diagonal."""

import numpy as np

from ...ir import Tensor
from .decomposition import Decomposition, decomposes


@decomposes("MATRIX_SET_DIAG")
def matrix_set_diag(here: Decomposition) -> Tensor:
    """A mask selects the vector on the diagonal of matrices, which need not be square."""
    x, vector = here.op.operand(0), here.op.operand(1)
    rows, columns = x.shape[-2:]
    along = (rows, 1) if rows <= columns else (1, columns)
    vector = here.reshape(vector, (*x.shape[:-2], *along))
    diagonal = here.constant(np.eye(rows, columns), "bool")
    return here.add("SELECT_V2", diagonal, vector, x, dtype=x.dtype)
