"""Recurrent operators of floats with 8-bit weights, as LiteRT's own kernels compute them.

Every product quantizes its rows anew, from -127 to 127, or with a zero point where the operator
says so:

q = round(rows / step)                              step = max(|rows|) / 127, for each row
y = sum(q * weights) * (step * scale) + bias        for each output

Everything else is computed with floats.
"""

from collections.abc import Sequence

import numpy as np

from ...ir import Array, Tensor
from ..decompose import recurrent
from ..decompose.decomposition import Decomposition, Results
from .hybrid import check_weights
from .lowering import INTEGERS, Lowering, lowers
from .rows import quantized_rows


@lowers("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(here: Lowering) -> Tensor:
    return recurrent.rnn(here, _product)


def lstm(here: Lowering) -> Results:
    """LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM."""
    return recurrent.lstm(here, _product)


def svdf(here: Lowering) -> Tensor:
    """Time weights are dequantized; LiteRT takes the bytes of floats for int8, too."""
    check_weights(here, here.op.operand(2))
    if here.op.operand(2).dtype not in INTEGERS:
        raise here.declined("its time weights are floats, whose bytes LiteRT takes for int8")
    here.scale(here.op.operand(2))
    return here.activated(recurrent.svdf(here, _product))


def _product(
    here: Decomposition, rows: Tensor, positions: Sequence[int], bias: Tensor | None
) -> Tensor:
    assert isinstance(here, Lowering)
    weights = [here.op.operand(position) for position in positions]
    for matrix in weights:
        check_weights(here, matrix)
    integers, step = quantized_rows(here, rows)
    matrix = here.constant(np.concatenate([_integers(here, matrix) for matrix in weights]))
    sums = here.add("FULLY_CONNECTED", integers, matrix, None, exact=True)
    scales = np.concatenate([np.broadcast_to(here.scale(m), m.shape[:1]) for m in weights])
    added = here.constant(np.zeros(sums.shape[-1])) if bias is None else bias
    return here.add("tflgpu.scale_row_sums", sums, step, here.constant(scales), added)


def _integers(here: Lowering, weights: Tensor) -> Array:
    values = here.centered(weights).data
    if values is None:
        raise here.declined("its weights are computed while the model runs")
    return values
