"""The second operand of a product is transposed where kernels then multiply slices, or faster.

    y = BATCH_MATMUL(a[4,196,48], b[4,196,48]) adj_y=True
    becomes   t = TRANSPOSE(b) perm=(0,2,1)   y = BATCH_MATMUL(a, t[4,48,196]) adj_y=False

On processors, where many rows are multiplied: the columns of the result are then slices. Otherwise
each of its elements is the sum of the lanes of one, which takes longer than short rows take to
multiply, or, where rows do not fill a slice, a sum of single products.

    y = BATCH_MATMUL(a[8,256,256], b[8,256,1])
    becomes   t = RESHAPE(b)   y = BATCH_MATMUL(a, t[8,1,256]) adj_y=True

A single column is a row, too, whose products with rows of `a` add up in slices.
"""

from ...ir import Graph, Op, Tensor
from ...ops.matmul.batch_matmul import COLUMNS, matrices
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite

PAYS = 4  # How many times the elements of a row of `b` the rows of `a`, times the lanes, must be.


@graph_rewrite()
def turn_second_matrix(graph: Graph, target: Target) -> Attempts:
    """For every product with a transposed operand, or of a single column."""
    for op in graph.ops:
        if op.name != "BATCH_MATMUL":
            continue
        transposed = op.attrs.get("adj_y", False)
        if not transposed and matrices(op)[2] != 1:
            continue
        if (yield Attempt((op,), _reason(op, target) if transposed else _not_a_row(op, target))):
            here = Decomposition(graph, op, target)
            here.apply(_turned(here))


def _not_a_row(op: Op, target: Target) -> str | None:
    if op.attrs.get("adj_x", False):
        return "the rows of the first operand are its columns"
    inner = matrices(op)[1]
    return f"{inner} numbers do not fill a slice" if inner < target.lanes else None


def _reason(op: Op, target: Target) -> str | None:
    if not target.on_processor:
        return "lanes are added up quickly"
    if op.operand(1).dtype != "float32" or op.operand(1).constant:
        return "the second operand is constant, or no float32"
    rows, inner, columns = matrices(op)
    if columns < (target.lanes if inner >= target.lanes else COLUMNS):
        return f"{columns} columns do not fill a slice"
    if rows * target.lanes < PAYS * inner:
        return f"{rows} rows are too few to transpose rows of {inner} for"
    return None


def _turned(here: Decomposition) -> Tensor:
    first, second = here.op.operand(0), here.op.operand(1)
    *outer, rows, columns = range(len(second.shape))
    turned = here.transpose(second, (*outer, columns, rows))
    other = not here.op.attrs.get("adj_y", False)
    return here.add(here.op.name, first, turned, **{**here.op.attrs, "adj_y": other})
