"""A result of an operator that only moves elements, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Op, Tensor
from .affine_moves import Move, Source
from .base.launch import Grid, Launch
from .base.storage import bhwc
from .base.view import row_major_view


@dataclass(frozen=True)
class Moved:
    """A result of an operator, and the tensor that it comes from."""

    op: Op
    result: Tensor
    source: Tensor
    move: Move

    def images(self) -> Source:
        """Where elements come from, in four axes."""
        return Source(self.move.of_images(), bhwc(self.source.shape))

    def rows(self, lanes: int = 1) -> Source:
        """Where they come from, with as few axes as slices of rows allow."""
        return Source(*self.move.merged(self.source.shape, lanes))

    def in_rows(self, template: str, grid: Grid, **variables: object) -> Launch:
        """The launch of a kernel on row-major tensors."""
        source, result, view = self.source, self.result, None
        if (starts := self.move.block(source.shape)) is not None:
            view = row_major_view(result, source, self.move.shape, starts)
        return Launch(template, grid, {"x": source}, {"y": result}, variables=variables, view=view)
