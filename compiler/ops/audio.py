"""AudioSpectrogram and Mfcc, LiteRT's custom operators for features of sound; shapes only."""

from dataclasses import dataclass

from ..ir import Op, Shape
from .base.definition import define


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
        return 1 << (self.window - 1).bit_length()

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
