"""PACK, MATRIX_SET_DIAG and SPACE_TO_BATCH_ND, by operators that move elements in simpler ways."""

import numpy as np

from ...ir import Tensor
from ...ops.control_flow import RESERVE, SET_ITEM, STACK
from .decomposition import Decomposition, decomposes


@decomposes("PACK")
def pack(here: Decomposition) -> Tensor:
    """RESHAPEs, which cost nothing, and a CONCATENATION along the new axis.

    y = PACK(a, b) axis=0   becomes   c = RESHAPE(a)   d = RESHAPE(b)   y = CONCATENATION(c, d)
    axis=0
    """
    axis = int(here.op.attrs.get("axis", 0)) % len(here.op.output.shape)
    operands = here.op.reads
    rows = [here.reshape(each, (*each.shape[:axis], 1, *each.shape[axis:])) for each in operands]
    return here.joined(rows, axis)


@decomposes(STACK)
def stack(here: Decomposition) -> Tensor | str:
    """Entries that are never set are zero."""
    entries: dict[int, Tensor] = {}
    source = here.graph.producer(here.op.operand(0))
    while source is not None and source.name == SET_ITEM:
        place = source.operand(1).data
        if place is None:
            return "the place of an entry is computed while the model runs"
        entries.setdefault(int(place), source.operand(2))
        source = here.graph.producer(source.operand(0))
    if source is None or source.name != RESERVE or not entries:
        return "the entries of its list are not known"
    length, *shape = here.op.output.shape
    zeros = here.constant(np.zeros(shape), here.op.output.dtype)
    rows = [entries.get(place, zeros) for place in range(length)]
    return here.add("PACK", *rows, axis=0, values_count=length)


@decomposes("MATRIX_SET_DIAG")
def matrix_set_diag(here: Decomposition) -> Tensor:
    """A mask selects the vector on the diagonal of matrices, which need not be square."""
    x, vector = here.op.operand(0), here.op.operand(1)
    rows, columns = x.shape[-2:]
    along = (rows, 1) if rows <= columns else (1, columns)
    vector = here.reshape(vector, (*x.shape[:-2], *along))
    diagonal = here.constant(np.eye(rows, columns), "bool")
    return here.add("SELECT_V2", diagonal, vector, x, dtype=x.dtype)


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
