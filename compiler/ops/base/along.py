"""Windows along one axis."""

from dataclasses import dataclass

import numpy as np

from ...ir import Array


@dataclass(frozen=True)
class Along:
    """One axis that a window moves along.

    The step s of window n reads the element n * stride + s * dilation - before.
    """

    extent: int
    """Of the axis."""
    size: int = 1
    """Of the window."""
    stride: int = 1
    dilation: int = 1
    """How far apart the elements are that the window reads."""
    before: int = 0
    after: int = 0
    """What is put around the axis; negative numbers crop it."""
    spread: int = 1
    """How far apart the elements of the axis are then, with others between them."""
    reversed: bool = False
    """Whether the window is read from its end."""

    @property
    def reach(self) -> int:
        """From the first element that a window reads to the last."""
        return (self.size - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        """How many windows there are."""
        spread = (self.extent - 1) * self.spread + 1 if self.extent else 0
        return max((spread + self.before + self.after - self.reach) // self.stride + 1, 0)

    @property
    def around(self) -> tuple[int, int]:
        """How many elements before and after an axis that is not spread the windows read."""
        read = (self.count - 1) * self.stride + self.reach
        return self.before, max(read - self.before - self.extent, 0)

    @property
    def whole(self) -> bool:
        """Whether each element is a window of its own."""
        return self.size == self.stride == 1

    @property
    def places(self) -> Array:
        """What each window covers [count, size], if nothing is around the axis."""
        first = np.arange(self.count) * self.stride
        return np.asarray(first[:, None] + np.arange(self.size) * self.dilation)
