"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of rank 3 become those of rank 4."""

from ...ir import Tensor
from .decomposition import Decomposition, decomposes


@decomposes("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def blocks_of_rows(here: Decomposition) -> Tensor | str:
    """A tensor of rank 3 has one spatial axis; it gets a second one of size 1."""
    op = here.op
    shape = op.operand(0).shape
    if len(shape) == 4:
        return "it already has rank 4"
    blocks = op.constant(1).reshape(-1)
    if len(shape) != 3 or len(blocks) != 1:
        reason = f"its input has rank {len(shape)} and blocks of {blocks.tolist()}"
        advice = "use rank 3 with one block size, or rank 4 with two"
        raise op.unsupported(reason, advice)
    image = here.reshape(op.operand(0), (*shape[:2], 1, shape[2]))
    sizes = here.constant([blocks[0], 1], "int32")
    ends = here.constant([op.constant(2).reshape(-1), [0, 0]], "int32")
    result = here.add(op.name, image, sizes, ends)
    return here.reshape(result, (*result.shape[:2], result.shape[3]))
