"""tflgpu.fully_connected_sum: the sum of two fully connected layers with different inputs.

Inputs are x, weights and bias of the first layer, then those of the second. A step of a recurrent
network is such a sum: of its input and of its previous state.
"""

import numpy as np

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import Implementation, define
from ..base.images import rank_fits
from ..base.launch import Launch
from ..base.storage import LINEAR, bhwc, slice_count
from ..layers.weights import PackedWeights, bias_slices, ohwi

NAME = "tflgpu.fully_connected_sum"


def infer(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:-1], op.operand(1).shape[0])]


def halves(op: Op) -> tuple[Op, Op]:
    """The two layers as separate operators that are in no graph."""
    first, second = op.inputs[:3], op.inputs[3:]
    return (
        Op("FULLY_CONNECTED", first, op.outputs, {}, op.index),
        Op("FULLY_CONNECTED", second, op.outputs, {}, op.index),
    )


def _build(op: Op, target: Target) -> Launch:
    """One work-item per slice of each row."""
    batch, height, width, channels = bhwc(op.output.shape)
    layers = halves(op)
    weights = [layer.constant(1) for layer in layers]
    return Launch.of(
        op,
        "matmul/fully_connected_sum.jinja",
        (width, height, batch * slice_count(channels, target)),
        reads={"x": op.operand(0), "second": op.operand(3)},
        constants={
            "bias": np.concatenate([bias_slices(o, channels, target) for o in layers]),
            "weights": np.concatenate([PackedWeights(ohwi(w), 1, target.lanes) for w in weights]),
        },
        variables={"inputs": [w.shape[1] for w in weights]},
        heavy=True,
        flops=2 * op.output.elements * sum(w.shape[1] for w in weights),
    )


IMPLEMENTATIONS = (
    Implementation("fully_connected_sum", _build, rank_fits),
    Implementation("fully_connected_sum_from_linear", _build, rank_fits, reads=LINEAR),
)

define(NAME, infer, IMPLEMENTATIONS)
