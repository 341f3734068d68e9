"""Slices of consecutive elements, which kernels of row-major tensors compute at once.

Compilers for processors vectorize neither functions such as exp nor loops whose index arithmetic
they do not see through.
"""

from collections.abc import Sequence

from ...ir import Op, Tensor
from ...target import Target
from .definition import traits_of
from .storage import FLOATS, kernel_dtype


def no_row_slices(
    op: Op, target: Target, operands: Sequence[Tensor], source: Tensor | None = None
) -> str | None:
    """Why a kernel cannot compute a row-major result in slices within its rows; None if it can.

    `operands` are what it reads while it stores the result, `source` is what it reads before.
    """
    if not target.on_processor or not target.language.vector_stores:
        return "neighbouring work-items already compute neighbouring elements"
    if target.half:
        return "constants are stored in half precision"
    stored = () if _stores_floats(op) else op.outputs
    for tensor in (*([source] if source else []), *operands, *stored):
        if kernel_dtype(tensor.dtype) != "float32":
            return f"{tensor.name} is {tensor.dtype}, but slices hold floats"
    columns = _columns(op.output)
    for tensor in operands:
        if _columns(tensor) not in (1, columns):
            return f"{tensor.name} has {_columns(tensor)} of {columns} elements in a row"
    return None


def _stores_floats(op: Op) -> bool:
    """Whether an operator computes floats, which may be stored as integers of the model."""
    computes = op.epilogue or not traits_of(op.name).converts
    return all(t.dtype in FLOATS or (computes and t.quantization) for t in op.outputs)


def no_long_rows(
    op: Op, target: Target, operands: Sequence[Tensor], source: Tensor | None = None
) -> str | None:
    """Why rows are shorter than a slice, or cannot be computed in slices; None if they can."""
    columns = _columns(op.output)
    if columns < target.lanes:
        return f"rows of {columns} elements do not fill a slice"
    return no_row_slices(op, target, operands, source)


def no_whole_rows(
    op: Op, target: Target, operands: Sequence[Tensor], source: Tensor | None = None
) -> str | None:
    """Why rows do not consist of whole slices; None if they do."""
    for tensor in op.outputs:
        if _columns(tensor) % target.lanes:
            return f"rows of {_columns(tensor)} elements are not whole slices"
    return no_row_slices(op, target, operands, source)


def _columns(tensor: Tensor) -> int:
    return tensor.shape[-1] if tensor.shape else 1
