"""Windows: the geometry of convolutions and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ir import Array, Op
from .storage import bhwc

MOST_TAPS = 49  # Of a window that is written out; compilers take long for more.


@dataclass(frozen=True)
class Window:
    """Kernel size, strides, dilations and padding of a window over rows and columns."""

    height: int
    width: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    top: int
    bottom: int
    left: int
    right: int

    @classmethod
    def of(cls, op: Op, height: int, width: int) -> Window:
        """A window as an operator's attributes describe it (ModelError if any is below 1)."""
        attrs = op.attrs
        stride_y, stride_x = attrs.get("stride_h", 0), attrs.get("stride_w", 0)
        dilation_y = attrs.get("dilation_h_factor", 1)
        dilation_x = attrs.get("dilation_w_factor", 1)
        _positive(op, "stride", stride_y, stride_x)
        _positive(op, "kernel size", height, width)
        _positive(op, "dilation", dilation_y, dilation_x)
        _, rows, columns, _ = bhwc(op.operand(0).shape)
        vertical = padding_along(op, 0, rows, height, stride_y, dilation_y)
        horizontal = padding_along(op, 1, columns, width, stride_x, dilation_x)
        return cls(
            height, width, stride_y, stride_x, dilation_y, dilation_x, *vertical, *horizontal
        )

    def output(self, op: Op, rows: int, columns: int) -> tuple[int, int]:
        """Rows and columns of the output (ModelError if the image is smaller than the window)."""
        free_y = rows + self.top + self.bottom - (self.height - 1) * self.dilation_y - 1
        free_x = columns + self.left + self.right - (self.width - 1) * self.dilation_x - 1
        if free_y < 0 or free_x < 0:
            raise op.invalid(
                f"a {self.height}x{self.width} window does not fit an image of {rows}x{columns}"
            )
        return free_y // self.stride_y + 1, free_x // self.stride_x + 1

    def rows_beyond(self, rows: int, outputs: int) -> tuple[bool, bool]:
        """Whether the windows of `outputs` output rows reach above and below an image of `rows`."""
        last = (outputs - 1) * self.stride_y + (self.height - 1) * self.dilation_y - self.top
        return self.top > 0, last >= rows

    def columns_beyond(self, columns: int, outputs: int, pixels: int = 1) -> tuple[bool, bool]:
        """Whether they reach beyond left and right, with `pixels` of a row for each work-item."""
        reached = -(-outputs // pixels) * pixels
        last = (reached - 1) * self.stride_x + (self.width - 1) * self.dilation_x - self.left
        return self.left > 0, last >= columns

    def pixels_beyond(self, columns: int, outputs: int, pixels: int) -> tuple[int, int]:
        """Which pixels of such a work-item may see what is beyond the image.

        To its left those before the first number, to its right those from the second on.
        """
        last_tile = (-(-outputs // pixels) - 1) * pixels
        reach = (self.width - 1) * self.dilation_x - self.left
        behind = (columns - 1 - reach) // self.stride_x + 1 - last_tile
        return min(-(-self.left // self.stride_x), pixels), min(max(behind, 0), pixels)

    @property
    def written_out(self) -> bool:
        """Whether it has so few taps that a kernel may have code for each."""
        return self.height * self.width <= MOST_TAPS

    @property
    def turned(self) -> Window:
        """The same over columns and rows."""
        return Window(
            *(self.width, self.height, self.stride_x, self.stride_y),
            *(self.dilation_x, self.dilation_y, self.left, self.right, self.top, self.bottom),
        )

    @property
    def pointwise(self) -> bool:
        """Whether the window is 1x1 without stride or padding."""
        return (
            self.height == self.width == self.stride_y == self.stride_x == 1
            and self.top == self.bottom == self.left == self.right == 0
        )


def _positive(op: Op, name: str, *values: int) -> None:
    if min(values) < 1:
        raise op.invalid(f"{name} {min(values)} must be at least 1")


def padding_along(
    op: Op, axis: int, extent: int, size: int, stride: int, dilation: int
) -> tuple[int, int]:
    """What an operator's attribute `padding` puts before and after an axis of its window.

    It is SAME, with which there are ceil(extent / stride) windows; VALID; or a pair for each axis.
    """
    padding = op.attrs.get("padding", "SAME")
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        before, after = padding[axis]
        return before, after
    outputs = -(-extent // stride)
    total = max((outputs - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


@dataclass(frozen=True)
class Along:
    """One axis that a window moves along.

    The step s of window n reads the element n * stride + s * dilation - before.
    """

    extent: int  # Of the axis.
    size: int = 1  # Of the window.
    stride: int = 1
    dilation: int = 1  # How far apart the elements are that the window reads.
    before: int = 0
    after: int = 0  # What is put around the axis; negative numbers crop it.
    spread: int = 1  # How far apart the elements of the axis are then, with others between them.
    reversed: bool = False  # Whether the window is read from its end.

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
