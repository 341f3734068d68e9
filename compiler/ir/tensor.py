"""Tensors, how they are quantized, and the real values of quantized constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

Array = NDArray[Any]
Shape = tuple[int, ...]


def extent(shape: Shape) -> int:
    """The product of a shape's sizes but 0, which arrays of no elements bound, too."""
    return prod(size for size in shape if size)


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (quantized - zero_point)."""

    scale: tuple[float, ...]  # One value, or one per entry along `axis`.
    zero_point: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True)
class Blocks:
    """Blockwise quantization: each block of `size` values along the last axis has its own scale."""

    size: int
    scales: Tensor
    zero_points: Tensor | None


# The integers as which whole numbers may be stored, and their bits; nibbles are for weights, and so
# are words, of which each holds four bytes that are multiplied at once.
WHOLE_BITS = {"nibbles": 4, "bytes": 8, "shorts": 16, "words": 32}


@dataclass(frozen=True)
class Whole:
    """How whole numbers are stored: as integers without a sign, each less `base`."""

    # One of WHOLE_BITS. In slices, two of 4 bits share a byte: those of a slice and of the next.
    bits: int
    base: int  # The number that a stored 0 stands for.
    # Whether they have a sign where they are row-major bytes, which the model's int8 then are.
    signed: bool = False

    @property
    def called(self) -> str:
        """nibbles, bytes, shorts or words."""
        return next(name for name, bits in WHOLE_BITS.items() if bits == self.bits)

    @property
    def dtype(self) -> str:
        """uint8, uint16 or uint32."""
        return f"uint{max(self.bits, 8)}"

    @property
    def row_dtype(self) -> str:
        """The type in row-major order: uint8, uint16 or int8."""
        return "int8" if self.signed else self.dtype

    @property
    def row_base(self) -> int:
        """The number that a stored 0 stands for in row-major order."""
        return self.base + 128 * self.signed


@dataclass(eq=False)
class Deferred:
    """An array that takes memory only while somebody holds it, and is computed again afterwards.

    Such are large weights as floats, which have a quarter of the bytes in the model file.
    """

    shape: Shape
    dtype: np.dtype[Any]
    compute: Callable[[], Array] = field(repr=False)
    _held: ReferenceType[Array] | None = field(default=None, init=False, repr=False)

    def array(self) -> Array:
        held = self._held() if self._held else None
        if held is None:
            held = self.compute()
            self._held = ref(held)
        return held


@dataclass(eq=False)
class Tensor:
    """A value that operators read and write; it is a constant if it has a content."""

    name: str
    shape: Shape
    dtype: str = "float32"
    content: Array | Deferred | None = field(default=None, repr=False)
    quantization: Quantization | None = None
    variable: bool = False  # Whether the tensor keeps its content between runs.
    # The shape with -1 for each size the file leaves open; None if it leaves none open.
    signature: Shape | None = None
    blocks: Blocks | None = None  # Blockwise quantization, which excludes `quantization`.
    # Whether the shape is known only while the model runs; `shape` is then the file's.
    dynamic: bool = False
    # Whether an operator of the file computes this constant; LiteRT then has it at run time.
    folded: bool = False
    # How the elements of a float tensor are stored, if they are stored as integers.
    whole: Whole | None = None
    # Whether slices are stored in single precision although the target stores them in half.
    kept: bool = False
    # Whether it is stored in half precision whatever the target says, as caches and scales may be.
    halved: bool = False
    # Whether lookups read the rows of this constant, and layers have it as their weights.
    tied: bool = False
    # A content, and its extremes.
    _extremes: tuple[Any, tuple[Any, Any]] = field(default=(None, (0, 0)), init=False, repr=False)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        return self.content is not None

    @property
    def data(self) -> Array | None:
        """The content of a constant; None for others."""
        return self.content.array() if isinstance(self.content, Deferred) else self.content

    @property
    def values(self) -> Array:
        """The content of what is known to be a constant."""
        data = self.data
        assert data is not None
        return data

    @property
    def extremes(self) -> tuple[Any, Any]:
        """The least and the greatest number of what is known to be a constant, or 0.

        They are found once, for which numbers that are deferred have to be computed.
        """
        known, found = self._extremes
        if known is not self.content:
            values = self.values
            found = values.min(initial=0).item(), values.max(initial=0).item()
            self._extremes = self.content, found
        return found

    @property
    def number(self) -> Any:
        """The only element of a constant, which kernels have as a number; None for others."""
        return None if self.elements != 1 or self.data is None else self.data.item()


def constant(name: str, content: Array | Deferred, tied: bool = False) -> Tensor:
    return Tensor(name, tuple(content.shape), content.dtype.name, content, tied=tied)


def dequantized(tensor: Tensor) -> Array | None:
    """The real values of a quantized constant, as float32: scale * (quantized - zero point).

    None for a tensor that is not a constant, not of integers, or not quantized. ModelError if its
    blocks do not fit its shape.
    """
    if tensor.blocks is None and tensor.quantization is None:
        return None
    values = tensor.data
    if values is None or values.dtype.kind not in "iu":
        return None
    if tensor.blocks is not None:
        return _from_blocks(tensor, values)
    assert tensor.quantization is not None
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
