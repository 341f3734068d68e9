"""Diagonal matrices."""

import numpy as np

from ...ir import Tensor
from .decomposition import Decomposition, decomposes


@decomposes("MATRIX_DIAG")
def matrix_diag(here: Decomposition) -> Tensor:
    """A mask selects the vector on the diagonal and zero elsewhere."""
    x = here.op.operand(0)
    columns = here.reshape(x, (*x.shape, 1))
    diagonal = here.constant(np.eye(x.shape[-1]), "bool")
    zero = here.constant(0, x.dtype)
    return here.add("SELECT_V2", diagonal, columns, zero, dtype=x.dtype)
