"""What kernels of slices make of the axes: images of rows and columns, or all pixels in a row."""

from collections.abc import Sequence

from ...ir import Op, Tensor
from ...target import Target
from .storage import bhwc


def rank_fits(op: Op, target: Target) -> str | None:
    """Sliced storage has only a batch, a height, a width and channels."""
    ranks = [len(tensor.shape) for tensor in (*op.reads, *op.outputs)]
    return f"rank {max(ranks)} is above 4" if max(ranks) > 4 else None


def flattens(op: Op, operands: Sequence[Tensor] | None = None) -> bool:
    """Whether height and width can be one axis, as no operand broadcasts over just one of them.

    The operands are all that it reads, unless they are given.
    """
    _, rows, columns, _ = bhwc(op.output.shape)
    images = [bhwc(tensor.shape)[1:3] for tensor in (op.reads if operands is None else operands)]
    return all(image in ((rows, columns), (1, 1)) for image in images)


def one_column(op: Op) -> bool:
    """Whether all images have one column, which can then be one row."""
    return all(bhwc(tensor.shape)[2] == 1 for tensor in (*op.reads, op.output))
