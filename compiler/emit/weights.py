"""The content of weights.bin: all constants of a plan."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from ...runtime.plan.records import Argument, Region
from ..ir import Array


@dataclass
class Weights:
    """Concatenated arrays, each at an aligned offset; equal arrays are stored once."""

    alignment: int
    data: bytearray = field(default_factory=bytearray)
    _places: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Offset and size of each array, by its SHA-256."""

    def add(self, array: Array) -> Argument:
        """The location of an array, which is appended unless an equal one is there already.

        Its denormal numbers become zeros, which are much faster on many processors.
        """
        content = _without_denormals(np.ascontiguousarray(array)).tobytes()
        key = hashlib.sha256(content).digest()
        if key not in self._places:
            self.data += bytes(-len(self.data) % self.alignment)
            self._places[key] = (len(self.data), len(content))
            self.data += content
        return Argument(Region.WEIGHTS, 0, *self._places[key], writes=False)


def _without_denormals(array: Array) -> Array:
    if array.dtype != np.float32:
        return array
    denormal = np.abs(array) < np.finfo(np.float32).tiny
    if not np.any(array[denormal]):
        return array
    return np.where(denormal, np.float32(0), array)
