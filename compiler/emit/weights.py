"""The content of weights.bin: all constants of a plan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...runtime.plan.records import Argument, Region
from ...runtime.plan.storage import WORD
from ..ir import Array

CHUNK = 1 << 18  # Elements that are copied at once, so that large arrays need no second copy.


@dataclass
class Weights:
    """Concatenated arrays, each of whole words at an aligned offset; equal ones are stored once."""

    alignment: int = WORD
    # Called after each array, whose sources need no memory any more.
    release: Callable[[], None] = lambda: None
    data: bytearray = field(default_factory=bytearray)
    # Offset and size of each array, by its SHA-256.
    _places: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def continued(self, alignment: int, release: Callable[[], None]) -> Weights:
        """These weights, for the constants of another graph."""
        return replace(self, alignment=alignment, release=release)

    def add(self, array: Array) -> Argument:
        """The location of an array, which is appended unless an equal one is there already.

        Its denormal numbers become zeros, which are much faster on many processors.
        """
        before = len(self.data)
        self.data += bytes(-before % self.alignment)
        place = len(self.data)
        flat = np.ascontiguousarray(array).reshape(-1)
        for start in range(0, flat.size, CHUNK):
            self.data += without_denormals(flat[start : start + CHUNK]).tobytes()
        self.data += bytes(-len(self.data) % WORD)
        with memoryview(self.data) as view:
            key = hashlib.sha256(view[place:]).digest()
        if key in self._places:
            del self.data[before:]
        else:
            self._places[key] = (place, len(self.data) - place)
        self.release()
        return Argument(Region.WEIGHTS, 0, *self._places[key], writes=False)


def without_denormals(array: Array) -> Array:
    """Floats with zeros for denormal numbers; other arrays as they are."""
    if array.dtype != np.float32:
        return array
    denormal = np.abs(array) < np.finfo(np.float32).tiny
    if not np.any(array[denormal]):
        return array
    return np.where(denormal, np.float32(0), array)
