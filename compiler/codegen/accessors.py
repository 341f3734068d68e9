"""How a kernel reaches a tensor: the one place that knows how each storage is indexed.

A view turns coordinates, which are texts of integer expressions, into texts of memory accesses.
Both kernel languages index buffers the same way, so a view names no language. Images of buffers,
which only OpenCL C has here, are a view of their own.
"""

from __future__ import annotations

from .linear_accessor import LinearView
from .position import Position
from .sliced_accessor import HalfView, ImageView, RowsView, SlicedView

View = SlicedView | LinearView

__all__ = [
    "HalfView",
    "ImageView",
    "LinearView",
    "Position",
    "RowsView",
    "SlicedView",
    "View",
]
