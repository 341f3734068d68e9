"""The tables of several layers as those of one, which has the output channels of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op, Tensor, constant


def joined_tables(layers: Sequence[Op], name: str) -> list[Tensor | None]:
    """The constant inputs of layers, those of one after the other's: weights, bias and the rest.

    The bias, which layers may lack, is None if it is 0 everywhere. The rest are tables of output
    channels that all of them have, such as the scales of blocks of weights.
    """
    first, *_ = layers

    def joined(position: int) -> Tensor:
        values = np.concatenate([layer.constant(position) for layer in layers])
        return constant(f"{name}/joined{position}", values)

    biases = np.concatenate([_bias(layer) for layer in layers])
    bias = constant(f"{name}/biases", biases) if biases.any() else None
    return [joined(1), bias, *map(joined, range(3, len(first.inputs)))]


def _bias(layer: Op) -> Array:
    if layer.input(2) is None:
        return np.zeros(layer.operand(1).shape[0], np.float32)
    return layer.constant(2).reshape(-1)
