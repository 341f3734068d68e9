"""Constants of int4 or int2 whose blocks of adjacent numbers have a scale each."""

import numpy as np

from ...ir import Array, Tensor
from ...ir.tensor import check_blocks
from .lowering import Lowering

XNNPACK_BLOCK = 32  # XNNPACK multiplies by weights in blocks of a multiple of this.
_LEAST_INPUTS, _LEAST_OUTPUTS = 32, 4  # Of a layer that LiteRT's own kernel multiplies.


def scales_of_blocks(here: Lowering, table: Tensor) -> Array:
    """The scales, float32 of shape [..., blocks of a row].

    ModelError if they do not fit the table, UnsupportedError for what LiteRT disregards or takes
    for something else.
    """
    blocks = table.blocks
    assert blocks is not None
    check_blocks(table, blocks.scales)
    if blocks.scales.dtype != "float16":
        raise here.declined(
            f"the scales of the blocks of {table.name} are {blocks.scales.dtype}, whose bytes "
            "LiteRT takes for float16"
        )
    zeros = None if blocks.zero_points is None else blocks.zero_points.data
    if zeros is not None and zeros.any():
        raise here.declined(f"the blocks of {table.name} have zero points, which LiteRT disregards")
    count = table.shape[-1] // blocks.size
    return blocks.scales.values.astype(np.float32).reshape(*table.shape[:-1], count)


def check_own_kernel(here: Lowering, weights: Tensor) -> None:
    """UnsupportedError for layers that neither XNNPACK nor LiteRT's own kernel computes."""
    outputs, inputs = weights.shape
    if inputs % 2 or inputs < _LEAST_INPUTS or outputs < _LEAST_OUTPUTS:
        assert weights.blocks is not None
        raise here.declined(
            f"weights {weights.name} are {outputs}x{inputs} in blocks of {weights.blocks.size}, "
            "for which LiteRT computes nothing",
            f"use blocks of a multiple of {XNNPACK_BLOCK}",
        )
