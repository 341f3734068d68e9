"""Fourier transforms, features of sound made of them, and Hadamard rotations; shapes only."""

from dataclasses import dataclass

from ...ir import Op, Shape
from ..base.definition import define
from ..base.parts import power_of_two_from
from ..base.shapes import same_as_first


def rotated_entries(op: Op) -> int:
    """How many entries of a row, a power of two, are rotated together (ModelError)."""
    size, shape = op.attrs.get("hadamard_size", 0), op.operand(0).shape
    if not isinstance(size, int) or size < 1 or size & (size - 1):
        raise op.invalid(f"hadamard_size is {size!r}, not a power of two")
    if len(shape) not in (2, 3) or shape[-1] % size:
        raise op.invalid(f"{list(shape)} are not rows of multiples of {size}, with 1 or 2 axes")
    return size


def _infer_rotation(op: Op) -> list[Shape]:
    rotated_entries(op)
    return [op.operand(0).shape]


_PRODUCTS = "becomes products with constant matrices"  # The start of notes in the operator table.

# A rotation spreads outliers before a row is quantized.
define("aeq.hadamard_rotation x -> y", _infer_rotation, note=_PRODUCTS)

# Operators from complex to real tensors. No kernel handles complex numbers: real and imaginary
# parts become separate tensors.
PARTS_OF_TRANSFORMS = ("COMPLEX_ABS", "IMAG", "REAL")


def transform_lengths(op: Op) -> tuple[int, int]:
    """Rows and columns of the transform, to which the input is cropped or padded (ModelError)."""
    sizes = op.integers(1)
    if len(sizes) != 2 or min(sizes) < 1 or len(op.operand(0).shape) < 2:
        raise op.invalid(
            f"cannot transform {list(op.operand(0).shape)} with the FFT lengths {sizes}"
        )
    return sizes[0], sizes[1]


def _infer_transform(op: Op) -> list[Shape]:
    rows, columns = transform_lengths(op)
    return [(*op.operand(0).shape[:-2], rows, columns // 2 + 1)]


define(
    "RFFT2D x sizes:integer -> y",
    _infer_transform,
    note=f"{_PRODUCTS}, if read only by {', '.join(PARTS_OF_TRANSFORMS)}",
)
for _name in PARTS_OF_TRANSFORMS:
    define(f"{_name} x -> y", same_as_first, note=f"{_PRODUCTS}, after RFFT2D")


def _option(op: Op, name: str) -> int:
    """An option that must be a number; LiteRT drops what is behind the point (ModelError)."""
    value = op.attrs.get(name, 0)
    if not isinstance(value, int | float) or abs(value) > 2**31:
        raise op.invalid(f"{name} is {value!r}")
    return int(value)


@dataclass(frozen=True)
class Frames:
    """The windows of a signal that AudioSpectrogram transforms."""

    window: int
    stride: int
    count: int

    @property
    def period(self) -> int:
        """The power of two to which windows are padded with zeros."""
        return power_of_two_from(self.window)

    @property
    def frequencies(self) -> int:
        """How many the transform of a window has."""
        return self.period // 2 + 1


def frames(op: Op) -> Frames:
    """The windows of an AudioSpectrogram, whose operand has samples and channels (ModelError)."""
    window, stride, shape = _option(op, "window_size"), _option(op, "stride"), op.operand(0).shape
    if window < 2 or stride < 1 or len(shape) != 2:
        raise op.invalid(f"it has no windows of {window} samples every {stride} in {list(shape)}")
    return Frames(window, stride, max(0, (shape[0] - window) // stride + 1))


def _infer_spectrogram(op: Op) -> list[Shape]:
    windows = frames(op)
    return [(op.operand(0).shape[1], windows.count, windows.frequencies)]


@dataclass(frozen=True)
class MelBands:
    """The filters and coefficients of Mfcc."""

    lowest: int  # Where the first band starts, in Hz.
    highest: int  # Where the last band ends, in Hz.

    count: int
    coefficients: int


def mel_bands(op: Op) -> MelBands:
    """Those of an Mfcc, whose first operand has channels, frames and frequencies (ModelError)."""
    limits = _option(op, "lower_frequency_limit"), _option(op, "upper_frequency_limit")
    sizes = _option(op, "filterbank_channel_count"), _option(op, "dct_coefficient_count")
    shape = op.operand(0).shape
    if len(shape) != 3 or not (0 <= limits[0] < limits[1] and 0 < sizes[1] <= sizes[0]):
        raise op.invalid(
            f"{sizes[1]} coefficients of {sizes[0]} bands between {limits[0]} and {limits[1]} Hz "
            f"cannot be computed of {list(shape)}"
        )
    return MelBands(*limits, *sizes)


_NOTE = "becomes products with constant matrices"

define("AudioSpectrogram samples -> spectrum", _infer_spectrogram, note=_NOTE)
define(
    "Mfcc spectrum rate:int32 -> y",
    lambda op: [(*op.operand(0).shape[:2], mel_bands(op).coefficients)],
    dtypes=("float32", "int32"),
    note=f"{_NOTE}; the sample rate must be a constant",
)
