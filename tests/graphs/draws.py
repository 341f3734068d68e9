"""How the values of inputs and constants are drawn, by name."""

from collections.abc import Callable
from zlib import crc32

import numpy as np

from tflgpu.compiler.ir import Array, Shape

Random = np.random.Generator

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, -3.0, 1e30, 1e-30)

Draw = Callable[[Random, Shape], Array]

DRAWS: dict[str, Draw] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "weights": lambda random, shape: 0.7 * random.standard_normal(shape),
    "positive": lambda random, shape: random.uniform(0.1, 5, shape),
    "away from zero": lambda random, shape: (
        random.uniform(0.5, 3, shape) * random.choice([-1.0, 1.0], shape)
    ),
    "deep": lambda random, shape: random.uniform(-3e5, -2e4, shape),
    "wide": lambda random, shape: random.uniform(-30, 30, shape),
    "small": lambda random, shape: random.integers(-50, 50, shape),
    "counts": lambda random, shape: random.integers(1, 9, shape),
    "places": lambda random, shape: random.integers(0, 2, shape),
    "large": lambda random, shape: random.integers(-(2**20), 2**20, shape),
    "truth": lambda random, shape: random.integers(0, 2, shape),
    "special": lambda random, shape: random.choice(SPECIAL, shape),
    "NaN at times": lambda random, shape: np.where(
        random.random(shape) < 1 / 32, np.nan, random.standard_normal(shape)
    ),
    "with ties": lambda random, shape: random.integers(-3, 3, shape) + 0.5,
}

# The draws of floats without special values.
REAL = ("normal", "weights", "positive", "away from zero", "wide")

# Special values with denormals and the largest floats.
EDGES = (*SPECIAL, -0.0, 1e-40, -1e-40, 3.4e38, -3.4e38)


def salted(draw: Draw) -> Draw:
    """Draws with one of `EDGES` in about one of eight places."""

    def with_edges(random: Random, shape: Shape) -> Array:
        values = np.asarray(draw(random, shape))
        return np.where(random.random(shape) < 1 / 8, random.choice(EDGES, shape), values)

    return with_edges


WHOLE_RANGE = "whole range"  # Draws from all integers of a type, which `drawn` looks up.


def drawn(name: str, shape: Shape, kind: str = "normal", dtype: str = "float32") -> Array:
    """An array from a seed that follows from a name, so that adding a model changes no other."""
    random = np.random.default_rng(crc32(name.encode()))
    if kind == WHOLE_RANGE:
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, np.dtype(dtype), endpoint=True)
    return np.asarray(DRAWS[kind](random, shape)).astype(dtype)
