"""Poses: the points of a body, drawn over the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from ..ir import Array
from .drawing import color, text_size
from .outputs import Output

LEAST_SCORE = 0.2
"""Of points that are drawn."""
DOTS = 100
"""The radius of a dot is this part of the picture's shorter side."""


@dataclass(frozen=True)
class Keypoint:
    """A point of a body, relative to the picture, 0 to 1."""

    index: int
    y: float
    x: float
    score: float


@dataclass(frozen=True)
class Keypoints:
    """The points of one body, in the model's order."""

    points: tuple[Keypoint, ...]

    def records(self) -> list[dict[str, Any]]:
        """Each point with its place and score."""
        return [asdict(point) for point in self.points]

    def draw(self, picture: Image.Image) -> Image.Image:
        """The picture with a numbered dot at each point that is certain enough."""
        drawn = picture.copy()
        draw = ImageDraw.Draw(drawn)
        radius = max(min(picture.size) // DOTS, 3)
        for point in self.points:
            if point.score >= LEAST_SCORE:
                x, y = point.x * picture.width, point.y * picture.height
                edges = (x - radius, y - radius, x + radius, y + radius)
                draw.ellipse(edges, fill=color(point.index + 1), outline="white")
                place = (x + radius + 2, y - radius)
                draw.text(place, str(point.index), fill="white", font_size=text_size(picture))
        return drawn


def keypoints_of(outputs: Sequence[Output], names: Sequence[str]) -> Keypoints | None:
    """The points of one body; None if the outputs have none.

    Either [1, 1, n, 3] with y, x and score of each point, as MoveNet computes them, or heatmaps
    [1, height, width, n] with a score for each cell and point, as PoseNet and hourglasses do:
    the best cell counts. Points with a NaN or an infinity are left out.
    """
    for output in outputs:
        values = output.values
        if values.ndim == 4 and values.shape[:2] == (1, 1) and values.shape[3] == 3:
            return _points(values[0, 0])
        if values.ndim == 4 and values.shape[0] == 1 and min(values.shape[1:3]) > 4:
            return _peaks(_probabilities(values[0]))
    return None


def _probabilities(heatmaps: Array) -> Array:
    """The scores of heatmaps, which are logits unless all of them are between 0 and 1."""
    if heatmaps.min() >= -0.1 and heatmaps.max() <= 1.1:
        return heatmaps
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-heatmaps))


def _peaks(heatmaps: Array) -> Keypoints:
    height, width, count = heatmaps.shape
    best = heatmaps.reshape(-1, count).argmax(axis=0)
    rows, columns = best // width, best % width
    scores = heatmaps[rows, columns, np.arange(count)]
    return _points(np.stack([(rows + 0.5) / height, (columns + 0.5) / width, scores], axis=1))


def _points(table: Array) -> Keypoints:
    """The points in the rows (y, x, score) of a table."""
    return Keypoints(
        tuple(Keypoint(i, *row) for i, row in enumerate(table.tolist()) if np.isfinite(row).all())
    )
