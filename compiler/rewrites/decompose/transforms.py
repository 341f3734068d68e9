"""Fourier transforms, and rotations by Hadamard matrices, are products with constant matrices."""

import numpy as np

from ...ir import Array, Op, Tensor
from ...ops.composite import rotated_entries, transform_lengths
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
