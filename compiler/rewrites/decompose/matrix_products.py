"""Products of matrices: layers where one is constant, BATCH_MATMUL where both are computed."""

from ...ir import Tensor
from ...ops.decomposed.composite import EXPERT_ACTIVATIONS, expert_activation
from .convolution import bias_apart
from .decomposition import Decomposition, decomposes


@decomposes("BATCH_MATMUL")
def constant_matrix(here: Decomposition) -> Tensor | str:
    """A product with a constant matrix on the right becomes FULLY_CONNECTED, which is faster."""
    op = here.op
    first, second = op.operand(0), op.operand(1)
    if second.data is None or first.data is not None:
        return "the second operand is not a constant, or both operands are"
    if any(size != 1 for size in second.shape[:-2]) or not second.elements:
        return "the second operand is not a single matrix"
    if not 2 <= len(first.shape) <= 4 or len(second.shape) > len(first.shape):
        return "the first operand's rank is not 2 to 4, or is below that of the second"
    if op.attrs.get("adj_x", False):
        rank = len(first.shape)
        first = here.transpose(first, (*range(rank - 2), rank - 1, rank - 2))
    matrix = second.data.reshape(second.shape[-2:])
    weights = here.constant(matrix if op.attrs.get("adj_y", False) else matrix.T)
    return here.add("FULLY_CONNECTED", first, weights, keep_num_dims=True)


MAX_AXES = 4  # Highest rank of a kernel's input: batch, height, width and channels.


@decomposes("FULLY_CONNECTED")
def rows_of_layers(here: Decomposition) -> Tensor | str:
    """A layer with computed weights becomes BATCH_MATMUL; others read rows of the weights' width.

    y = FULLY_CONNECTED(x[1,7,7,64], w[10,3136])
    becomes   r = RESHAPE(x) [1,3136]   y = FULLY_CONNECTED(r, w)

    An input of rank 5 or more becomes a matrix too, and the result gets its axes back.
    """
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    width, keeps = weights.shape[1], op.attrs.get("keep_num_dims", False)
    if weights.constant:
        apart = bias_apart(here, 2)
        fits = len(source.shape) <= MAX_AXES if keeps else len(source.shape) == 2
        if not isinstance(apart, str) or not width or (source.shape[-1:] == (width,) and fits):
            return apart
        rows = here.reshape(source, (source.elements // width, width))
        result = here.add("FULLY_CONNECTED", rows, weights, bias, **op.attrs)
    else:
        rows = here.reshape(source, (-1, width))
        result = here.add("BATCH_MATMUL", rows, weights, adj_x=False, adj_y=True)
        if bias is not None:
            result = here.add("ADD", result, here.reshape(bias, (bias.elements,)))
    return here.reshape(result, op.output.shape)


@decomposes("moe")
def mixture_of_experts(here: Decomposition) -> Tensor:
    """All experts at once, each scaled by its routing weight for the token, 0 if not chosen."""
    op = here.op
    source, gate, partner, last = (op.operand(position) for position in (0, 3, 4, 5))
    hidden, experts, _, width = gate.shape
    rows = here.reshape(source, (-1, width))
    entered = here.add("FULLY_CONNECTED", rows, _matrix(here, gate, (1, 0, 2, 3), width))
    entered = here.add("GELU", entered, approximate=EXPERT_ACTIVATIONS[expert_activation(op)])
    beside = here.add("FULLY_CONNECTED", rows, _matrix(here, partner, (1, 0, 2, 3), width))
    apart = (rows.shape[0], experts, hidden)
    scaled = here.add("MUL", entered, beside)
    scaled = here.add("MUL", here.reshape(scaled, apart), _shares(here, experts))
    scaled = here.reshape(scaled, (rows.shape[0], experts * hidden))
    ends = _matrix(here, last, (0, 1, 2, 3), experts * hidden)
    return here.reshape(here.add("FULLY_CONNECTED", scaled, ends), op.output.shape)


def _matrix(here: Decomposition, weights: Tensor, order: tuple[int, ...], columns: int) -> Tensor:
    return here.reshape(here.transpose(weights, order), (-1, columns))


def _shares(here: Decomposition, experts: int) -> Tensor:
    """The factor of each token and expert: [tokens, experts, 1]."""
    op = here.op
    count = op.operand(1).shape[-1]
    shares = here.reshape(op.operand(1), (-1, count, 1))
    chosen = here.reshape(op.operand(2), (-1, count))
    limits = here.constant(experts, "int32"), here.constant(1.0), here.constant(0.0)
    marks = here.add("ONE_HOT", chosen, *limits, dtype="float32", axis=-1)
    sums = here.reduce("SUM", here.add("MUL", marks, shares), 1, keep_dims=False)
    sums = here.add("MUL", sums, here.reshape(op.operand(6), (experts,)))
    return here.reshape(sums, (sums.shape[0], experts, 1))
