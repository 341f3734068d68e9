"""Operands are viewed such that their batches meet where a batch of one disappeared in the file.

Beside [1, 64, 12], a converter may write [64, 12], in which a batch has been joined to the rows, or
[1, 12], whose batch is repeated along the rows: for a batch of 4 these are [256, 12] and [4, 12],
and are read as [4, 64, 12] and [4, 1, 12].
"""

from collections.abc import Sequence

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ir.sizes import Sizes, by_now, in_file, is_batch


def aligned(operands: Sequence[Sizes]) -> dict[int, Sizes]:
    """The operands to view otherwise, by position, with their sizes then."""
    found = {}
    for position, sizes in enumerate(operands):
        others = [*operands[:position], *operands[position + 1 :]]
        place = _batch_place(sizes)
        wanted = max([_batch_place(other) for other in others], default=0)
        if place and wanted <= place and _meets_another(sizes, place, others):
            wanted = place + 1
        if place and wanted > place:
            batch, *rest = sizes[-place]
            ones = ((),) * (wanted - place - 1)
            found[position] = ((batch,), *ones, tuple(rest), *sizes[len(sizes) - place + 1 :])
    return found


def view(graph: Graph, op: Op, position: int, shape: Shape) -> Tensor:
    """Let an operator read an operand in another shape."""
    tensor = op.operand(position)
    viewed = Tensor(f"{tensor.name}/view", shape, tensor.dtype, quantization=tensor.quantization)
    wanted = constant(f"{viewed.name}/shape", np.array(shape, np.int32))
    graph.add(Op("RESHAPE", (tensor, wanted), (viewed,), index=op.index, origins=op.origins))
    inputs = list(op.inputs)
    inputs[position] = viewed
    graph.set_inputs(op, inputs)
    return viewed


def _batch_place(sizes: Sizes) -> int:
    """The place from the end of the axis that begins with a batch; 0 if none does.

    Nothing but ones is before it, so that the batch can be an axis of its own in another view.
    """
    for axis, size in enumerate(sizes):
        if size and is_batch(size[0]):
            return len(sizes) - axis
        if by_now(size) != 1:
            break
    return 0


def _meets_another(sizes: Sizes, place: int, others: Sequence[Sizes]) -> bool:
    """Whether what a batch is joined to meets the same size without a batch."""
    own = sizes[-place]
    return len(own) > 1 and any(
        len(other) > place
        and in_file(other[-place]) == in_file(own)
        and by_now(other[-place]) != by_now(own)
        for other in others
    )
