"""How pixels become the values of an input."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ..frontend.metadata import TensorMetadata
from ..ir import Array

MEAN, STD = (0.0,), (255.0,)  # What is assumed where nothing is known: pixels 0..255 become 0..1.


@dataclass(frozen=True)
class Scaling:
    """The conversion of pixels to real numbers, for all channels or for each: (pixel - mean) / std.

    InputError if a divisor is 0, or a number is not finite.
    """

    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    source: str = ""  # Where the numbers come from, for people; empty if they are assumed.

    def __post_init__(self) -> None:
        if not all(self.std):
            raise InputError("std is 0, but pixels are divided by it; give another value")
        if not all(map(isfinite, (*self.mean, *self.std))):
            raise InputError(f"mean is {self.mean} and std is {self.std}, but both must be finite")

    def apply(self, pixels: Array, info: TensorInfo) -> Array:
        """The values of an input for pixels (uint8, channels last).

        Integers are quantized by the input's scale and zero point. If nothing is known, they are
        the pixels themselves, or for int8 the pixels minus 128.
        """
        dtype = np.dtype(info.dtype)
        if dtype.kind != "f" and not (self.source and info.scale):
            shifted: Array = (pixels.astype(np.int16) + np.iinfo(dtype).min).astype(dtype)
            return shifted
        real = (pixels - self._channels(self.mean, info)) / self._channels(self.std, info)
        if dtype.kind == "f":
            values: Array = real.astype(dtype)
            return values
        limits = np.iinfo(dtype)
        steps = np.rint(real / info.scale) + info.zero_point
        quantized: Array = np.clip(steps, limits.min, limits.max).astype(dtype)
        return quantized

    def _channels(self, numbers: tuple[float, ...], info: TensorInfo) -> Array:
        if len(numbers) not in (1, info.shape[-1]):
            raise InputError(
                f"there are {len(numbers)} numbers to scale the channels of input {info.name} "
                f"with, {', '.join(map(str, numbers))}, but it has {info.shape[-1]}"
            )
        return np.array(numbers)

    def describe(self, info: TensorInfo) -> str:
        """What happens to the pixels of an input, and where that comes from."""
        if np.dtype(info.dtype).kind != "f" and not (self.source and info.scale):
            shift = "" if info.dtype == "uint8" else " minus 128"
            return f"pixels 0..255 become {info.dtype}{shift}, which is assumed"
        low = np.subtract(0, self.mean) / self.std
        high = np.subtract(255, self.mean) / self.std
        quantized = "" if np.dtype(info.dtype).kind == "f" else f", quantized to {info.dtype}"
        source = self.source or "which is assumed"
        return f"pixels 0..255 become {_words(low)}..{_words(high)}{quantized}, {source}"


def _words(numbers: Array) -> str:
    return "/".join(f"{number:.6g}" for number in numbers)


def choose_scaling(
    known: TensorMetadata | None,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    family: Scaling | None = None,
) -> Scaling:
    """The scaling that the user gives, or the model's metadata, or its family, or an assumption.

    As in a format, a mean that is not given is 0 and a std 1, if the other is given.
    """
    if mean or std:
        return Scaling(tuple(mean) or (0.0,), tuple(std) or (1.0,), "as asked")
    if known is not None and known.mean and known.std:
        return Scaling(known.mean, known.std, "as the model's metadata says")
    return family or Scaling()
