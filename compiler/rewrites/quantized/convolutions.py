"""Convolutions and fully connected layers: sums of products, scaled and rounded once."""

from __future__ import annotations

import numpy as np

from ...ir import Tensor, constant
from .exact_sums import exact_sums
from .hybrid import hybrid
from .lowering import EXACT, INTEGERS, Lowering, lowers

ACTIVATION = "fused_activation_function"


@lowers("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def convolution(here: Lowering) -> None:
    """Sums of products of centered integers, then one scale for each output channel."""
    op = here.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if not weights.constant or (bias is not None and not bias.constant):
        raise here.declined("weights or a bias are computed while the model runs")
    if image.dtype not in INTEGERS:
        hybrid(here)
        return
    sums = exact_sums(
        here,
        op.name,
        here.centered(image),
        here.centered(weights),
        None if bias is None else op.constant(2).reshape(-1),
        here.reach(image),
        {**op.attrs, ACTIVATION: "NONE", "exact": True},
    )
    sums = here.reshape(sums, op.output.shape)
    here.finish_centered(requantized(here, sums, image, weights))


def requantized(here: Lowering, sums: Tensor, image: Tensor, weights: Tensor) -> Tensor:
    """Sums as integers of the output: scaled by one product of float32, to the nearest even."""
    result = here.op.output
    # In this order, as XNNPACK computes it in float32.
    scales = here.scale(image) * here.scale(weights) / here.scale(result)
    low, high = here.bounds(result)
    scale = constant(f"{result.name}/scale", np.asarray(scales, np.float32))
    return here.add("tflgpu.requantize", sums, scale, low=float(low), high=float(high))


@lowers("TRANSPOSE_CONV")
def transposed_convolution(here: Lowering) -> None:
    """The same with the operands in another order: the result's size, weights, image, bias."""
    op = here.op
    size, weights, image, bias = op.operand(0), op.operand(1), op.operand(2), op.input(3)
    if not weights.constant or (bias is not None and not bias.constant):
        raise here.declined("weights or a bias are computed while the model runs")
    values = here.centered(weights)
    assert values.data is not None
    most = np.abs(values.data).sum((1, 2, 3), dtype=np.float64) * here.reach(image)
    if bias is not None:
        most = most + np.abs(op.constant(3).astype(np.float64))
    if most.max(initial=0) > EXACT:
        raise here.declined(f"sums may reach {most.max():.0f}, more than {EXACT}")
    added = None if bias is None else here.constant(op.constant(3).reshape(-1))
    attrs = {**op.attrs, ACTIVATION: "NONE", "exact": True}
    sums = here.add(op.name, size, values, here.centered(image), added, dtype="float32", **attrs)
    here.finish_centered(requantized(here, sums, image, weights))
