"""Poses: the points of bodies, drawn over the picture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from ..ir import Array
from .drawing import Shown, color, text_size
from .outputs import Output

LEAST_SCORE = 0.2  # Of points that are drawn.
# The points of a body in the COCO data set, which most networks find.
PARTS = (
    *("nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder"),
    *("left elbow", "right elbow", "left wrist", "right wrist", "left hip", "right hip"),
    *("left knee", "right knee", "left ankle", "right ankle"),
)
# Pairs of them that are joined by a line.
BONES = (
    *((0, 1), (0, 2), (1, 3), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10), (5, 11), (6, 12)),
    *((11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)
POINTS = len(PARTS)
DOTS = 100  # The radius of a dot is this part of the picture's shorter side.


@dataclass(frozen=True)
class Keypoint:
    """A point of a body, relative to the picture, 0 to 1."""

    pose: int  # The number of the body.
    index: int
    name: str  # As the COCO data set calls it, if these are its points; else empty.
    y: float
    x: float
    score: float


@dataclass(frozen=True)
class Keypoints(Shown):
    """The points of all bodies, in the model's order."""

    points: tuple[Keypoint, ...]
    least: float = LEAST_SCORE  # The score from which on a point is drawn.

    @property
    def named(self) -> bool:
        """Whether these are the points of the COCO data set."""
        return any(point.name for point in self.points)

    def records(self) -> list[dict[str, Any]]:
        return [asdict(point) for point in self.points]

    def draw(self, picture: Image.Image) -> Image.Image:
        drawn = picture.copy()
        draw = ImageDraw.Draw(drawn)
        radius = max(min(picture.size) // DOTS, 3)
        size = text_size(picture) * 3 // 4
        certain = {(p.pose, p.index): p for p in self.points if p.score >= self.least}
        several = len({pose for pose, _ in certain}) > 1
        places = {key: (p.x * picture.width, p.y * picture.height) for key, p in certain.items()}
        shades = {key: color((key[0] if several else key[1]) + 1) for key in certain}
        for pose in dict.fromkeys(pose for pose, _ in certain):
            for bone in BONES if self.named else ():
                ends = [places[pose, end] for end in bone if (pose, end) in places]
                if len(ends) == 2:
                    shade = color(pose + 1) if several else (255, 255, 255)
                    draw.line(ends, fill=(0, 0, 0), width=radius + 2)
                    draw.line(ends, fill=shade, width=radius)
        for (_, index), (x, y), shade in zip(places, places.values(), shades.values(), strict=True):
            edges = (x - radius, y - radius, x + radius, y + radius)
            draw.ellipse(edges, fill=shade, outline="white")
            draw.text(
                (x + radius + 2, y - size),
                str(index),
                fill="white",
                font_size=size,
                stroke_width=max(size // 8, 1),
                stroke_fill="black",
            )
        return drawn

    def nothing(self) -> str:
        best = max((point.score for point in self.points), default=0.0)
        if best >= self.least:
            return ""
        return f"No points with a score of {self.least:g} found; the best one has {best:.4g}"


def keypoints_of(outputs: Sequence[Output]) -> Keypoints | None:
    """The points of bodies; None if the outputs have none.

    Either [1, 1, n, 3] with y, x and score of each point, as MoveNet computes them; or [1, poses,
    56] with these for 17 points, then the edges and the score of the body, as MoveNet computes them
    for several bodies, of which those that are certain enough count; or heatmaps [1, height, width,
    n] with a score for each cell and point, as hourglasses do: the best cell counts.
    Points with a NaN or an infinity are left out.
    """
    for output in outputs:
        values = output.values
        if has_points(output):
            return bodies(values[0])
        if has_poses(output):
            certain = values[0, values[0, :, -1] >= LEAST_SCORE, : 3 * POINTS]
            return bodies(certain.reshape(-1, POINTS, 3))
        if values.ndim == 4 and values.shape[0] == 1 and min(values.shape[1:3]) > 4:
            return _peaks(probabilities(values[0]))
    return None


def has_points(output: Output) -> bool:
    """Whether an output has the shape of MoveNet's for one body."""
    return output.values.ndim == 4 and output.shape[:2] == (1, 1) and output.shape[3] == 3


def has_poses(output: Output) -> bool:
    """Whether an output has the shape of MoveNet's for several bodies."""
    return output.values.ndim == 3 and output.shape[::2] == (1, 3 * POINTS + 5)


def probabilities(heatmaps: Array) -> Array:
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
    return bodies(np.stack([(rows + 0.5) / height, (columns + 0.5) / width, scores], axis=1)[None])


def bodies(points: Array) -> Keypoints:
    """The points of bodies [body, point, (y, x, score)], relative to the picture."""
    names = PARTS if points.shape[1] == POINTS else ("",) * points.shape[1]
    return Keypoints(
        tuple(
            Keypoint(number, index, names[index], *row)
            for number, body in enumerate(points.tolist())
            for index, row in enumerate(body)
            if np.isfinite(row).all()
        )
    )
