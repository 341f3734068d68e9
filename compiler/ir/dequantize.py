"""Dequantization of constants."""

import numpy as np

from ..errors import ModelError
from .tensor import Array, Tensor


def dequantized(tensor: Tensor) -> Array | None:
    """The real values of a quantized constant, as float32: scale * (quantized - zero point).

    None for a tensor that is not a constant, not of integers, or not quantized. ModelError if its
    blocks do not fit its shape.
    """
    values = tensor.data
    if values is None or values.dtype.kind not in "iu":
        return None
    if tensor.blocks is not None:
        return _from_blocks(tensor, values)
    if tensor.quantization is None:
        return None
    scale = np.asarray(tensor.quantization.scale, np.float32)
    zero = np.asarray(tensor.quantization.zero_point, np.float32)
    if scale.size > 1:
        sizes = [1] * values.ndim
        sizes[tensor.quantization.axis] = -1
        scale, zero = scale.reshape(sizes), zero.reshape(sizes)
    return np.asarray((values.astype(np.float32) - zero) * scale, np.float32)


def _from_blocks(tensor: Tensor, values: Array) -> Array:
    """Each block of adjacent values along the last axis has a scale and maybe a zero point."""
    blocks = tensor.blocks
    assert blocks is not None
    cut = values.astype(np.float32).reshape(-1, blocks.size)
    for factor in (blocks.scales, *([blocks.zero_points] if blocks.zero_points else [])):
        check_blocks(tensor, factor)
    scale, zero = (None if f is None else f.data for f in (blocks.scales, blocks.zero_points))
    assert scale is not None
    if zero is not None:
        cut = cut - zero.astype(np.float32).reshape(-1, 1)
    return np.asarray(cut * scale.astype(np.float32).reshape(-1, 1)).reshape(values.shape)


def check_blocks(tensor: Tensor, factors: Tensor) -> None:
    """ModelError unless there is a constant factor for each block of a tensor."""
    blocks = tensor.blocks
    assert blocks is not None
    whole = not tensor.shape[-1] % blocks.size
    if factors.data is None or not whole or factors.elements * blocks.size != tensor.elements:
        raise ModelError(
            f"tensor {tensor.name} {list(tensor.shape)} in blocks of {blocks.size} does not "
            f"match {factors.name} {list(factors.shape)}"
        )
