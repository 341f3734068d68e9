"""Convolutions and fully connected layers: sums of products, scaled and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Tensor, constant
from .lowering import EXACT, Lowering, lowers

ACTIVATION = "fused_activation_function"


@lowers("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def convolution(here: Lowering) -> None:
    """Sums of products of centered integers, then one scale for each output channel."""
    op = here.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if not weights.constant or (bias is not None and not bias.constant):
        raise here.declined("weights or a bias are computed while the model runs")
    sums = here.add(
        op.name,
        here.centered(image),
        here.centered(weights),
        None if bias is None else float_bias(here, bias),
        **without_activation(op.attrs),
    )
    check_exact(here, image, weights, bias)
    here.finish_centered(requantized(here, sums, image, weights))


def without_activation(attrs: Any) -> dict[str, Any]:
    """The options of an operator whose activation bounds the rounded result instead."""
    return {**attrs, ACTIVATION: "NONE", "exact": True}


def float_bias(here: Lowering, bias: Tensor) -> Tensor:
    assert bias.data is not None
    return constant(f"{bias.name}/float", bias.data.astype(np.float32))


def check_exact(here: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None) -> None:
    """UnsupportedError where sums may be too large to be exact."""
    values = here.centered(weights).data
    assert values is not None
    axis = 3 if here.op.name == "DEPTHWISE_CONV_2D" else 0
    summed = tuple(other for other in range(values.ndim) if other != axis)
    most = np.abs(values).sum(summed, dtype=np.float64) * here.reach(image)
    if bias is not None and bias.data is not None:
        most = most + np.abs(bias.data.astype(np.float64))
    if most.max(initial=0) > EXACT:
        raise here.declined(f"sums may reach {most.max():.0f}, more than {EXACT}")


def requantized(here: Lowering, sums: Tensor, image: Tensor, weights: Tensor) -> Tensor:
    """Sums as integers of the output: scaled by one product of float32, to the nearest even."""
    result = here.op.output
    # In this order, as XNNPACK computes it in float32.
    scales = here.scale(image) * here.scale(weights) / here.scale(result)
    low, high = here.bounds(result)
    scale = constant(f"{result.name}/scale", np.asarray(scales, np.float32))
    return here.add("tflgpu.requantize", sums, scale, low=float(low), high=float(high))
