"""Tensors: the values that flow between operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Quantization:
    """Affine quantization, real = scale * (quantized - zero_point); per channel along `axis`."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True)
class Blocks:
    """Quantization in blocks of `size` along the last axis, each with its own scale."""

    size: int
    scales: Tensor
    zero_points: Tensor | None


@dataclass(frozen=True)
class Centered:
    """Floats that are the integers of a quantized tensor less its zero point."""

    dtype: str
    """The type of the integers: int8, uint8 or int16."""
    zero_point: int


@dataclass(eq=False)
class Tensor:
    """A value that flows between operators; `data` holds its content if it is a constant."""

    name: str
    shape: Shape
    dtype: str = "float32"
    data: Array | None = field(default=None, repr=False)
    quantization: Quantization | None = None
    variable: bool = False
    """Whether the tensor keeps its content between runs."""
    signature: Shape | None = None
    """The shape with -1 for the sizes that the file leaves open, where it leaves any open."""
    blocks: Blocks | None = None
    """How the tensor is quantized if it is in blocks; `quantization` is None then."""
    centered: Centered | None = None
    """What its values stand for, where they are whole numbers in float32."""
    dynamic: bool = False
    """Whether only a run tells the shape; `shape` is then what the file says."""

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        return self.data is not None


def scalar(value: float, name: str = "scalar", dtype: str = "float32") -> Tensor:
    """A constant tensor of rank 0."""
    return Tensor(name, (), dtype, np.asarray(value, dtype))


def constant(name: str, data: Array) -> Tensor:
    """A constant tensor that holds `data`."""
    return Tensor(name, tuple(data.shape), data.dtype.name, data)
