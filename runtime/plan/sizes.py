"""What tensors take in memory of a device: the types of their elements, their sizes in bytes."""

from __future__ import annotations

from math import prod

from .records import PlacedTensor, Plan, Region, TensorInfo

DEVICE_TYPES = {
    "float32": "float32",
    "float16": "float32",
    "bool": "int32",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int32",
    "uint32": "int32",
    "int64": "int32",
}
"""Each type a tensor may have, and the type its elements have in memory of the device."""

ITEM_SIZE = 4
"""Bytes of an element in memory of the device, whatever its type."""

BUFFER_GRANULE = 256
"""Bytes of which the buffers of inputs and outputs are multiples."""


def byte_size(info: TensorInfo) -> int:
    """Bytes of an input or output on the device: row-major and dense, 0 if it is never there."""
    return prod(info.shape) * ITEM_SIZE if info.dtype in DEVICE_TYPES and not info.open else 0


def slices(tensor: PlacedTensor) -> tuple[int, int, int, int, int]:
    """The extents in which a channel-sliced tensor is stored.

    [batch, slice, height, width, lane], its shape filled up with ones on the left to BHWC.
    """
    batch, height, width, channels = (1,) * (4 - len(tensor.shape)) + tensor.shape
    return (batch, -(-channels // tensor.lanes), height, width, tensor.lanes)


def whole_granules(size: int) -> int:
    """Bytes of the buffer of an input or output; the rest lets a last slice be stored whole."""
    return -(-size // BUFFER_GRANULE) * BUFFER_GRANULE


def region_size(plan: Plan, region: Region, index: int) -> int:
    """Bytes of the buffer an argument lies in; IndexError if there is no such buffer."""
    if region is Region.INPUT:
        return whole_granules(byte_size(plan.inputs[index]))
    if region is Region.OUTPUT:
        return whole_granules(byte_size(plan.outputs[index]))
    if region is Region.STATE:
        return whole_granules(plan.variables[index].size)
    if index:
        raise IndexError(index)
    return plan.arena_size if region is Region.ARENA else plan.weights_size
