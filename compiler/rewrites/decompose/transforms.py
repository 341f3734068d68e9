"""Fourier transforms, features of sound and Hadamard rotations: products with constant matrices."""

import numpy as np

from ...ir import Array, Op, Tensor
from ...ops.decomposed.transforms import (
    MelBands,
    frames,
    mel_bands,
    rotated_entries,
    transform_lengths,
)
from .decomposition import Decomposition, decomposes

# Operators that leave complex numbers in their order.
RESHAPES = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")


@decomposes("COMPLEX_ABS", "IMAG", "REAL")
def part_of_transform(here: Decomposition) -> Tensor | str:
    """The real part, imaginary part or magnitude of an RFFT2D, whose result may be reshaped."""
    op = here.op
    source = here.graph.producer(op.operand(0))
    while source is not None and source.name in RESHAPES:
        source = here.graph.producer(source.operand(0))
    if source is None or source.name != "RFFT2D":
        return "its operand is not the result of an RFFT2D"
    real, imaginary = _transform(here, source)
    if op.name == "COMPLEX_ABS":
        squares = here.add("ADD", here.add("SQUARE", real), here.add("SQUARE", imaginary))
        part = here.add("SQRT", squares)
    else:
        part = real if op.name == "REAL" else imaginary
    return here.reshape(part, op.output.shape)


def _transform(here: Decomposition, op: Op) -> tuple[Tensor, Tensor]:
    """Real and imaginary part: a transform along rows, then along columns if there are several."""
    signal = op.operand(0)
    rows, columns = transform_lengths(op)
    cosines, sines = waves(columns // 2 + 1, columns, signal.shape[-1])
    real, imaginary = product(here, signal, cosines), product(here, signal, -sines)
    height = signal.shape[-2]
    if rows == height == 1:
        return real, imaginary
    rank = len(signal.shape)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    cosines, sines = waves(rows, rows, height)
    real, imaginary = here.transpose(real, swapped), here.transpose(imaginary, swapped)
    both = here.add("ADD", product(here, real, cosines), product(here, imaginary, sines))
    rest = here.add("SUB", product(here, imaginary, cosines), product(here, real, sines))
    return here.transpose(both, swapped), here.transpose(rest, swapped)


def waves(frequencies: int, period: int, samples: int) -> tuple[Array, Array]:
    """Cosines and sines [frequencies, samples], zero for samples past the period."""
    products = np.outer(np.arange(frequencies), np.arange(samples)) % period
    angles = products * (2 * np.pi / period)
    inside = np.arange(samples) < period
    return np.cos(angles) * inside, np.sin(angles) * inside


def product(here: Decomposition, tensor: Tensor, matrix: Array) -> Tensor:
    """The rows of a tensor times a constant matrix [outputs, inputs]."""
    flat = here.reshape(tensor, (-1, tensor.shape[-1]))
    result = here.add("FULLY_CONNECTED", flat, here.constant(matrix))
    return here.reshape(result, (*tensor.shape[:-1], matrix.shape[0]))


LARGEST = 128  # Rows of the largest matrix that is multiplied as it is.


@decomposes("aeq.hadamard_rotation")
def rotation(here: Decomposition) -> Tensor:
    """A product with a Hadamard matrix H, the Kronecker product of two smaller ones if it is large.

    y[a * b] = x[a * b] H   becomes   y[a, b] = H_a (x[a, b] H_b)
    """
    op = here.op
    size = rotated_entries(op)
    inner = size if size <= LARGEST else 1 << (size.bit_length() // 2)
    outer = size // inner
    rows = product(here, here.reshape(op.operand(0), (-1, outer, inner)), _hadamard(inner))
    if outer > 1:
        columns = product(here, here.transpose(rows, (0, 2, 1)), _hadamard(outer))
        rows = here.transpose(columns, (0, 2, 1))
    return here.reshape(rows, op.output.shape)


def _hadamard(size: int) -> Array:
    """Sylvester's matrix, scaled so that it is orthogonal; it is symmetric."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.asarray(matrix / np.sqrt(size))


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
