"""Features of sound are decomposed into products with constant matrices."""

import numpy as np

from ...ir import Array, Tensor
from ...ops.audio import MelBands, frames, mel_bands
from .decomposition import Decomposition, decomposes
from .transforms import product, waves

FAINTEST = 1e-12  # The least magnitude of a band before its logarithm is taken.


@decomposes("AudioSpectrogram")
def spectrogram(here: Decomposition) -> Tensor | str:
    """Fourier transforms of overlapping windows, tapered by a periodic Hann function."""
    op = here.op
    windows = frames(op)
    if not windows.count:
        return "its input is shorter than a window"
    places = np.arange(windows.count)[:, None] * windows.stride + np.arange(windows.window)
    signal = here.transpose(op.operand(0), (1, 0))
    cut = here.add("GATHER", signal, here.constant(places, "int32"), axis=1, batch_dims=0)
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(windows.window) / windows.window)
    cosines, sines = waves(windows.frequencies, windows.period, windows.window)
    parts = [product(here, cut, matrix * taper) for matrix in (cosines, sines)]
    squares = here.add("ADD", *(here.add("SQUARE", part) for part in parts))
    return squares if op.attrs.get("magnitude_squared", False) else here.add("SQRT", squares)


@decomposes("Mfcc")
def mel_frequency_cepstrum(here: Decomposition) -> Tensor | str:
    """The cosine transform of the logarithms of bands, of which an ear hears some."""
    op = here.op
    spectrum, (rate,) = op.operand(0), op.integers(1)
    bands = mel_bands(op)
    hertz = 0.5 * rate / max(1, spectrum.shape[2] - 1)
    if hertz <= 0 or bands.highest >= spectrum.shape[2] * hertz:
        return f"the spectrum of {rate} samples a second does not reach {bands.highest} Hz"
    if bands.count > spectrum.shape[2]:
        return "it has more bands than frequencies"
    heard = product(here, here.add("SQRT", spectrum), _filters(bands, spectrum.shape[2], hertz))
    logarithms = here.add("LOG", here.add("MAXIMUM", here.constant(FAINTEST), heard))
    angles = np.outer(np.arange(bands.coefficients), np.arange(bands.count) + 0.5)
    cosines = np.sqrt(2 / bands.count) * np.cos(angles * (np.pi / bands.count))
    return product(here, logarithms, cosines)


def _filters(bands: MelBands, frequencies: int, hertz: float) -> Array:
    """Weights [bands, frequencies], triangles over the mel scale; `hertz` lie between frequencies.

    As in HTK, what is below the first band, and the mean, count nowhere.
    """
    places = np.arange(frequencies)
    mels, (low, high) = _mel(places * hertz), _mel(np.array([bands.lowest, bands.highest]))
    corners = low + (high - low) / (bands.count + 1) * np.arange(bands.count + 2)
    rises = (mels - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falls = (corners[2:, None] - mels) / np.diff(corners)[1:, None]
    heard = (places >= int(1.5 + bands.lowest / hertz)) & (places <= int(bands.highest / hertz))
    return np.asarray(np.clip(np.minimum(rises, falls), 0, None) * heard)


def _mel(frequencies: Array) -> Array:
    return np.asarray(1127 * np.log1p(frequencies / 700))
