"""Element types, and how tensors of them are stored: in channel slices, or row-major."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ....runtime.plan.storage import WORD, device_dtype, element_size, item_size, whole_words
from ...ir import Array, Shape, Tensor
from ...target import Target

FLOATS = ("float32", "float16")  # Types that are float32 on the device.
INTEGERS = ("int32", "int64")  # Types that are int32 on the device, with 32-bit arithmetic.
# Types that kernels hold as int32, and move, compare and convert but do not compute.
SMALL_INTEGERS = ("int16", "int8", "uint8", "uint16", "uint32")
# Every element type a tensor on the device may have.
ANY = (*FLOATS, *INTEGERS, *SMALL_INTEGERS, "bool")


def kernel_dtype(dtype: str) -> str:
    """The dtype in which kernels hold elements, float32 or int32 (KeyError for the host's own)."""
    return "float32" if device_dtype(dtype) == "float32" else "int32"


LINEAR = "linear"  # Row-major storage, as on the host.
SLICED = "sliced"  # Channels in slices of the target's width: [batch][slice][height][width][lane].


@dataclass(frozen=True)
class Lane:
    """How one lane of a slice is stored."""

    dtype: str  # float32, float16, uint8, uint16 or uint32.
    bytes: int
    base: int = 0  # The number that a stored 0 stands for; only for uint8 and uint16.
    # Whether a byte is two lanes of 4 bits: the lower one of a slice, the upper of the next.
    halved: bool = False


FLOAT_LANE = Lane("float32", 4)
HALF_LANE = Lane("float16", 2)


def lane_of(tensor: Tensor, target: Target) -> Lane:
    """How the lanes of a tensor in channel slices are stored."""
    if tensor.whole is not None:
        whole = tensor.whole
        return Lane(whole.dtype, element_size(whole.dtype), whole.base, whole.bits == 4)
    return HALF_LANE if tensor.halved or (target.half and not tensor.kept) else FLOAT_LANE


def fits_half(constant: ArrayLike) -> bool:
    """Whether a constant is one of floats in the range of half precision, or not finite."""
    array = np.asarray(constant)
    if array.dtype.kind != "f":
        return False
    return not np.any((np.abs(array) > np.finfo(np.float16).max) & np.isfinite(array))


def halves_rows(tensor: Tensor, target: Target) -> bool:
    """Whether a tensor is stored in half precision if row-major, as constants of floats are."""
    constant = tensor.constant and tensor.dtype in FLOATS
    return tensor.halved or (constant and lane_of(tensor, target) == HALF_LANE)


def bhwc(shape: Shape) -> tuple[int, int, int, int]:
    """A shape as (batch, height, width, channels), with ones in front (ValueError above rank 4)."""
    if len(shape) > 4:
        raise ValueError(f"rank {len(shape)} has no batch, height, width and channels")
    batch, height, width, channels = (1, 1, 1, 1)[len(shape) :] + tuple(shape)
    return batch, height, width, channels


def bhwc_axes(shape: Shape, axes: Collection[int]) -> set[int]:
    """Axes of a shape of up to rank 4, among (batch, height, width, channels)."""
    return {axis + 4 - len(shape) for axis in axes}


def slice_count(channels: int, target: Target) -> int:
    return -(-channels // target.lanes)


def element_dtype(tensor: Tensor) -> str:
    """The dtype of the elements in memory of a row-major tensor that is no constant."""
    if tensor.halved:
        return HALF_LANE.dtype
    return device_dtype(tensor.dtype) if tensor.whole is None else tensor.whole.row_dtype


def element_bytes(tensor: Tensor) -> int:
    if tensor.halved:
        return HALF_LANE.bytes
    return item_size(tensor.dtype) if tensor.whole is None else element_size(tensor.whole.dtype)


def linear_bytes(tensor: Tensor) -> int:
    """Bytes of a row-major tensor, in whole words."""
    return whole_words(tensor.elements * element_bytes(tensor))


def slice_bytes(tensor: Tensor, target: Target) -> int:
    return target.lanes * lane_of(tensor, target).bytes


def sliced_bytes(shape: Shape, target: Target, lane: Lane = FLOAT_LANE) -> int:
    """Bytes of a tensor in channel slices, lanes past the last channel included."""
    batch, height, width, channels = bhwc(shape)
    slices = batch * height * width * slice_count(channels, target)
    return target.lanes * lane.bytes * slices


def stored_bytes(tensor: Tensor, storage: str, target: Target) -> int:
    if storage == SLICED:
        return sliced_bytes(tensor.shape, target, lane_of(tensor, target))
    return linear_bytes(tensor)


def pack_slices(data: Array, lanes: int, dtype: DTypeLike = np.float32) -> Array:
    """An array of rank up to 4 as [batch][slice][height][width][lane].

    Lanes past the last channel are zero.
    """
    batch, height, width, channels = bhwc(data.shape)
    slices = -(-channels // lanes)
    padded = np.zeros((batch, height, width, slices * lanes), dtype)
    padded[..., :channels] = data.reshape(batch, height, width, channels)
    sliced = padded.reshape(batch, height, width, slices, lanes)
    return np.ascontiguousarray(sliced.transpose(0, 3, 1, 2, 4))


def device_array(data: Array) -> Array:
    """A constant in its device type; wider integers keep their low 32 bits."""
    if data.dtype.kind == "f":
        return np.asarray(data, np.float32)
    narrow = data.dtype.name in ("int8", "uint8")
    return np.asarray(data) if narrow else np.asarray(data).astype(np.int32)


def stored_array(tensor: Tensor, storage: str, target: Target) -> Array:
    """A constant as a kernel reads it from a buffer of its own."""
    values = tensor.values
    if storage != SLICED:
        rows = device_array(values)
        return rows.astype(np.float16) if halves_rows(tensor, target) else rows
    lane = lane_of(tensor, target)
    # Bytes that have a sign lose it by wrapping.
    exact = values.dtype.name in ("int8", "int32") and lane.dtype == f"u{values.dtype.name}"
    sliced = pack_slices(values, target.lanes, values.dtype if exact else np.float32)
    if lane.bytes == WORD:
        return sliced
    integers = (sliced - lane.base).astype(lane.dtype)
    return _in_pairs(integers.reshape(-1, target.lanes)) if lane.halved else integers


def _in_pairs(slices: Array) -> Array:
    """Slices of numbers of 4 bits, two in the bytes of one."""
    even = np.pad(slices, ((0, len(slices) % 2), (0, 0)))
    return np.asarray(even[::2] | even[1::2] << 4)
