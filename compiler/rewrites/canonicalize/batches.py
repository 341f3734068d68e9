"""Batches of operators for which a converter left out a batch of one.

Operands are viewed such that their batches meet: beside [1, 64, 12], a converter may write
[64, 12], in which a batch has been joined to the rows, or [1, 12], whose batch is repeated along
the rows. For a batch of 4 these are [256, 12] and [4, 12], and are read as [4, 64, 12] and
[4, 1, 12].

A product of two computed matrices becomes one for each entry:

y[m, n] = FULLY_CONNECTED(x[m, k], w[n, k])
becomes   p[b, m, n] = BATCH_MATMUL(x[b, m, k], w[b, n, k])   y[b * m, n] = RESHAPE(p)

A batch of one is moved by a RESHAPE, as to take the steps of a sequence one by one and back:

y[t, 1, c] = RESHAPE(x[1, t, c])   becomes   y[t, b, c] = TRANSPOSE(x[b, t, c])
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ir.sizes import Factor, Size, Sizes, by_now, in_file, is_batch, is_batch_alone, regroup
from ...ops.base.definition import activation_of


def separated(op: Op, known: Callable[[Tensor], Sizes]) -> tuple[Sizes, ...] | None:
    """The sizes of x, w, p and y of a plain product whose second matrix has a batch; else None."""
    if op.output.dtype != "float32" or not _is_plain(op):
        return None
    x, weights = map(known, op.reads)
    batch_of_x, *rows = _apart(x)
    batch, *columns = _apart(weights)
    others = [factor for size in (*rows, *columns) for factor in size]
    # A single row of each entry, as of pictures and texts, may be meant to meet all the others.
    if not batch or not (rows[0] and columns[0]) or any(map(is_batch, others)):
        return None
    adjoint_x, adjoint_y = _adjoints(op)
    result = (batch, rows[adjoint_x], columns[not adjoint_y])
    y = regroup(result, op.output.shape)
    return None if y is None else ((batch_of_x, *rows), (batch, *columns), result, y)


def separate(graph: Graph, op: Op, shapes: Sequence[Shape]) -> Op:
    """Replace a product by one of batches, for these shapes of x, w, p and y."""
    x, weights, result, y = shapes
    products = Tensor(f"{op.output.name}/products", result, op.output.dtype)
    wanted = constant(f"{op.output.name}/shape", np.array(y, np.int32))
    attrs = dict(zip(("adj_x", "adj_y"), _adjoints(op), strict=True))
    product = Op("BATCH_MATMUL", op.reads, (products,), attrs, op.index, origins=op.origins)
    graph.remove(op)
    graph.add(product)
    for position, shape in enumerate((x, weights)):
        view(graph, product, position, shape)
    graph.add(Op("RESHAPE", (products, wanted), op.outputs, index=op.index, origins=op.origins))
    return product


# Operators that take entries from an axis, or turn it round.
_TAKING = ("GATHER", "REVERSE_V2", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "UNPACK")


def moved(graph: Graph, op: Op, known: Callable[[Tensor], Sizes]) -> list[int] | None:
    """The order of axes that a RESHAPE stands for; None if it stands for none.

    A batch that comes first could also join the axis that is then first, unless entries of that
    are taken.
    """
    sizes, filed = known(op.operand(0)), op.output.shape
    places = [axis for axis, size in enumerate(sizes) if is_batch_alone(size)]
    if op.name != "RESHAPE" or len(places) != 1 or len(filed) != len(sizes):
        return None
    (place,) = places
    order = [axis for axis in range(len(sizes)) if axis != place]
    rest = [in_file(sizes[axis]) for axis in order]
    found = [axis for axis in range(len(sizes)) if [*rest[:axis], 1, *rest[axis:]] == [*filed]]
    taken = any(reader.name in _TAKING for reader in graph.consumers(op.output))
    if not found or place in found or not (found[0] == 0 or (place == 0 and taken)):
        return None
    order.insert(found[0], place)
    return order


def move(graph: Graph, op: Op, order: Sequence[int]) -> Op:
    """Let a TRANSPOSE take the place of a RESHAPE."""
    axes = constant(f"{op.output.name}/order", np.array(order, np.int32))
    return _take_place(graph, op, "TRANSPOSE", (op.operand(0), axes))


def is_left_behind(op: Op) -> bool:
    """Whether a SELECT, whose operands do not broadcast, reads one that kept a batch of one."""
    shapes = [tensor.shape for tensor in op.reads]
    alike = op.name == "SELECT" and len(set(map(len, shapes))) == 1
    return alike and any(1 in sizes and len({*sizes}) > 1 for sizes in zip(*shapes, strict=True))


def broadcast(graph: Graph, op: Op) -> Op:
    """Let a SELECT_V2, whose operands broadcast, take the place of a SELECT."""
    return _take_place(graph, op, "SELECT_V2", op.reads)


def _take_place(graph: Graph, op: Op, name: str, operands: Sequence[Tensor]) -> Op:
    other = Op(name, operands, op.outputs, index=op.index, origins=op.origins)
    graph.remove(op)
    graph.add(other)
    return other


def _is_plain(op: Op) -> bool:
    if op.name == "BATCH_MATMUL":
        return all(len(tensor.shape) == 2 for tensor in op.reads)
    return op.name == "FULLY_CONNECTED" and len(op.reads) == 2 and activation_of(op) is None


def _adjoints(op: Op) -> tuple[bool, bool]:
    if op.name == "FULLY_CONNECTED":
        return False, True
    return op.attrs.get("adj_x", False), op.attrs.get("adj_y", False)


def _apart(sizes: Sizes) -> tuple[Size, Size, Size]:
    """The batch of a matrix, if it begins with one, its rows and columns."""
    *rows, columns = sizes
    factors = [factor for size in rows for factor in size if factor != Factor(1, 1)]
    count = int(bool(factors) and is_batch(factors[0]))
    return tuple(factors[:count]), tuple(factors[count:]), columns


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
