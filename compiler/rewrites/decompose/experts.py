"""A mixture of experts is decomposed into matrix products."""

from __future__ import annotations

from ...ir import Tensor
from ...ops.mixture_of_experts import ACTIVATIONS, activation
from .decomposition import Decomposition, decomposes


@decomposes("moe")
def mixture_of_experts(here: Decomposition) -> Tensor:
    """All experts at once, each scaled by its routing weight for the token, 0 if not chosen."""
    op = here.op
    source, gate, partner, last = (op.operand(position) for position in (0, 3, 4, 5))
    hidden, experts, _, width = gate.shape
    rows = here.reshape(source, (-1, width))
    entered = here.add("FULLY_CONNECTED", rows, _matrix(here, gate, (1, 0, 2, 3), width))
    entered = here.add("GELU", entered, approximate=ACTIVATIONS[activation(op)])
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
    middle = here.constant([1], "int32")
    sums = here.add("SUM", here.add("MUL", marks, shares), middle, keep_dims=False)
    sums = here.add("MUL", sums, here.reshape(op.operand(6), (experts,)))
    return here.reshape(sums, (sums.shape[0], experts, 1))
