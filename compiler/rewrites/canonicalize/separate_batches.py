"""A product of two computed matrices, from which a batch of one disappeared, is one for each entry.

y[m, n] = FULLY_CONNECTED(x[m, k], w[n, k])
becomes   p[b, m, n] = BATCH_MATMUL(x[b, m, k], w[b, n, k])   y[b * m, n] = RESHAPE(p)
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ir.sizes import Factor, Size, Sizes, is_batch, regroup
from ...ops.base.definition import activation_of
from .align_batches import view


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
