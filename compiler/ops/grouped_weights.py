"""Weights of groups of channels that share slices, as those of whole slices of inputs.

Each slice of outputs reads the slices with the inputs of its groups. Weights of inputs of other
groups are zeros, so that what is infinite in a group makes NaN of its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir import Array


@dataclass(frozen=True)
class SpreadWeights:
    """The weights for the slices of inputs that a slice of outputs reads."""

    weights: Array
    """[outputs, height, width, inputs of these slices]."""
    beyond: bool
    """Whether the last slices of outputs would otherwise read beyond the last slice of inputs."""


def spread_groups(weights: Array, groups: int, lanes: int) -> SpreadWeights:
    """OHWI weights of groups, for kernels that read as many slices for each slice of outputs."""
    outputs, height, width, inputs = weights.shape
    each = outputs // groups
    starts = np.arange(0, outputs, lanes)
    last = np.minimum(starts + lanes, outputs) - 1
    first_slices = starts // each * inputs // lanes
    last_slices = ((last // each + 1) * inputs - 1) // lanes
    count = int((last_slices - first_slices).max()) + 1
    most = -(-groups * inputs // lanes) - count
    beyond = bool((first_slices > most).any())
    begins = np.minimum(first_slices, most) * lanes
    spread = np.zeros((outputs, height, width, count * lanes), weights.dtype)
    for output in range(outputs):
        begin = output // each * inputs - begins[output // lanes]
        spread[output, :, :, begin : begin + inputs] = weights[output]
    return SpreadWeights(spread, beyond)
