"""The bodies that PoseNet finds: points from heatmaps, each moved by offsets, joined by others.

Papandreou et al., PersonLab, 2018. A body grows from its best point along the edges of a tree; each
end of an edge is where the displacement at the other end points to.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ..ir import Array
from .keypoints import PARTS, Keypoints, bodies, probabilities
from .outputs import Output

# Pairs of points (parent, child); displacements are those of each pair, then of each reversed.
TREE = (
    *((0, 1), (1, 3), (0, 2), (2, 4), (0, 5), (5, 7), (7, 9), (5, 11), (11, 13), (13, 15)),
    *((0, 6), (6, 8), (8, 10), (6, 12), (12, 14), (14, 16)),
)

LEAST_ROOT = 0.5  # The score of a point that a body may grow from.
APART = 20  # Pixels within which two points of a kind are of the same body.
LEAST_BODY = 0.2  # The mean score of a body's points.


def poses_of(outputs: Sequence[Output], size: tuple[int, int]) -> Keypoints | None:
    """The bodies in outputs of PoseNet for a picture of a height and width; None for others.

    Heatmaps [1, h, w, 17], offsets [1, h, w, 34] in pixels, first those of y, and displacements for
    the edges: [1, h, w, 32] forwards and backwards, or joined. Without these, one body.
    """
    maps = [output.values[0] for output in outputs if output.values.ndim == 4]
    heat = next((each for each in maps if each.shape[2] == len(PARTS)), None)
    alike = [each for each in maps if heat is not None and each.shape[:2] == heat.shape[:2]]
    offsets = next((each for each in alike if each.shape[2] == 2 * len(PARTS)), None)
    if heat is None or offsets is None or min(heat.shape[:2]) < 2:
        return None
    both = [each for each in alike if each.shape[2] == 4 * len(TREE)]
    halves = [each for each in alike if each.shape[2] == 2 * len(TREE)]
    halves = np.split(both[0], 2, axis=2) if both else halves
    moves = np.concatenate(list(map(_pairs, halves)), axis=3) if len(halves) == 2 else None
    decoder = _Decoder(probabilities(heat), _pairs(offsets), moves, size)
    found = list(decoder.several() if moves is not None else [decoder.single()])
    return bodies(np.array(found).reshape(-1, len(PARTS), 3) / (*size, 1))


def _pairs(values: Array) -> Array:
    """[h, w, (y, x), n] of values in which all y come before all x."""
    return values.reshape(*values.shape[:2], 2, -1)


class _Decoder:
    """Points are (y, x, score), in pixels."""

    def __init__(
        self, scores: Array, offsets: Array, moves: Array | None, size: tuple[int, int]
    ) -> None:
        self._scores, self._offsets, self._moves = scores, offsets, moves
        self._cells = np.array(scores.shape[:2])
        self._stride = (np.array(size) - 1) / (self._cells - 1)

    def single(self) -> Array:
        """The best point of each kind."""
        flat = self._scores.reshape(-1, len(PARTS)).argmax(axis=0)
        rows, columns = np.unravel_index(flat, self._scores.shape[:2])
        cells = enumerate(zip(rows.tolist(), columns.tolist(), strict=True))
        return np.array([self._at(cell, part) for part, cell in cells])

    def several(self) -> Iterator[Array]:
        """The points of each body, the body with the best point first."""
        found: list[Array] = []
        for row, column, part in self._peaks():
            root = self._at((row, column), part)
            if any(np.hypot(*(root - other[part])[:2]) <= APART for other in found):
                continue
            body = self._grown(part, root)
            found.append(body)
            if body[:, 2].mean() >= LEAST_BODY:
                yield body

    def _peaks(self) -> list[tuple[int, int, int]]:
        """Cells that score best among their neighbours, and well enough; the best first."""
        edge = np.pad(self._scores, ((1, 1), (1, 1), (0, 0)), constant_values=-1)
        around = np.lib.stride_tricks.sliding_window_view(edge, (3, 3), (0, 1)).max(axis=(3, 4))
        peaks = np.argwhere((self._scores == around) & (self._scores >= LEAST_ROOT))
        places = ((row, column, part) for row, column, part in peaks.tolist())
        return sorted(places, key=lambda place: -self._scores[place])

    def _grown(self, part: int, root: Array) -> Array:
        assert self._moves is not None
        body: dict[int, Array] = {part: root}
        edges = [*TREE, *((child, parent) for parent, child in TREE)]
        open_parts = [part]
        while open_parts:
            start = open_parts.pop()
            for number, (parent, child) in enumerate(edges):
                if parent == start and child not in body:
                    row, column = self._cell(body[start])
                    place = body[start][:2] + self._moves[row, column, :, number]
                    # Twice towards where the cell there says the point is.
                    for _ in range(2):
                        body[child] = self._at(self._cell(place), child)
                        place = body[child]
                    open_parts.append(child)
        return np.array([body[each] for each in range(len(PARTS))])

    def _cell(self, place: Array) -> tuple[int, int]:
        """The cell nearest to a place."""
        row, column = np.clip(np.rint(place[:2] / self._stride), 0, self._cells - 1).astype(int)
        return int(row), int(column)

    def _at(self, cell: tuple[int, int], part: int) -> Array:
        """The point of a kind where a cell says it is."""
        row, column = cell
        place = np.array(cell) * self._stride + self._offsets[row, column, :, part]
        return np.array([*place, self._scores[row, column, part]])
