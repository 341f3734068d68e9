"""Poses: the points of bodies, drawn over the picture."""

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
POINTS = 17
"""Of a body of several, those of the COCO data set."""
DOTS = 100
"""The radius of a dot is this part of the picture's shorter side."""


@dataclass(frozen=True)
class Keypoint:
    """A point of a body, relative to the picture, 0 to 1."""

    pose: int
    """The number of the body."""
    index: int
    y: float
    x: float
    score: float


@dataclass(frozen=True)
class Keypoints:
    """The points of all bodies, in the model's order."""

    points: tuple[Keypoint, ...]

    def records(self) -> list[dict[str, Any]]:
        """Each point with its place and score."""
        return [asdict(point) for point in self.points]

    def draw(self, picture: Image.Image) -> Image.Image:
        """The picture with a numbered dot at each point that is certain enough."""
        drawn = picture.copy()
        draw = ImageDraw.Draw(drawn)
        radius = max(min(picture.size) // DOTS, 3)
        several = len({point.pose for point in self.points}) > 1
        for point in self.points:
            if point.score >= LEAST_SCORE:
                x, y = point.x * picture.width, point.y * picture.height
                edges = (x - radius, y - radius, x + radius, y + radius)
                shade = color((point.pose if several else point.index) + 1)
                draw.ellipse(edges, fill=shade, outline="white")
                place = (x + radius + 2, y - radius)
                draw.text(place, str(point.index), fill="white", font_size=text_size(picture))
        return drawn


def keypoints_of(outputs: Sequence[Output], names: Sequence[str]) -> Keypoints | None:
    """The points of bodies; None if the outputs have none.

    Either [1, 1, n, 3] with y, x and score of each point, as MoveNet computes them; or [1, poses,
    56] with these for 17 points, then the edges and the score of the body, as MoveNet computes them
    for several bodies, of which those that are certain enough count; or heatmaps [1, height, width,
    n] with a score for each cell and point, as PoseNet and hourglasses do: the best cell counts.
    Points with a NaN or an infinity are left out.
    """
    for output in outputs:
        values = output.values
        if values.ndim == 4 and values.shape[:2] == (1, 1) and values.shape[3] == 3:
            return _points(values[0])
        if has_poses(output):
            bodies = values[0, values[0, :, -1] >= LEAST_SCORE, : 3 * POINTS]
            return _points(bodies.reshape(-1, POINTS, 3))
        if values.ndim == 4 and values.shape[0] == 1 and min(values.shape[1:3]) > 4:
            return _peaks(_probabilities(values[0]))
    return None


def has_poses(output: Output) -> bool:
    """Whether an output has the shape of MoveNet's for several bodies."""
    return output.values.ndim == 3 and output.shape[::2] == (1, 3 * POINTS + 5)


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
    return _points(np.stack([(rows + 0.5) / height, (columns + 0.5) / width, scores], axis=1)[None])


def _points(bodies: Array) -> Keypoints:
    """The points of bodies [body, point, (y, x, score)]."""
    return Keypoints(
        tuple(
            Keypoint(number, index, *row)
            for number, body in enumerate(bodies.tolist())
            for index, row in enumerate(body)
            if np.isfinite(row).all()
        )
    )
