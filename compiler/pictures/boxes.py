"""Detection: boxes with a class and a score, drawn over the picture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from .drawing import Shown, color, text_size
from .outputs import Output, label

LEAST_SCORE = 0.5  # Of boxes that count as detected.
LINES = 150  # A frame is as wide as this part of the picture's shorter side.


@dataclass(frozen=True)
class Box:
    """An object that was detected; its edges are relative to the picture, 0 to 1."""

    label: str
    index: int  # The number of its class.
    score: float
    top: float
    left: float
    bottom: float
    right: float


@dataclass(frozen=True)
class Boxes(Shown):
    """The objects that were detected, the most certain first."""

    boxes: tuple[Box, ...]
    least: float = LEAST_SCORE  # The least score of these.
    missed: Box | None = None  # The best of those that score less.

    def records(self) -> list[dict[str, Any]]:
        return [asdict(box) for box in self.boxes]

    def draw(self, picture: Image.Image) -> Image.Image:
        drawn = picture.copy()
        draw = ImageDraw.Draw(drawn)
        width, height = picture.size
        line = max(min(width, height) // LINES, 2)
        for box in self.boxes:
            left, top = box.left * width, box.top * height
            edges = (left, top, max(box.right * width, left), max(box.bottom * height, top))
            shade = color(box.index + 1)
            draw.rectangle(edges, outline=shade, width=line)
            text, size = f"{box.label} {box.score:.0%}", text_size(picture)
            place = (left + line, max(top, 0) + line)
            draw.rectangle(draw.textbbox(place, text, font_size=size), fill=shade)
            ink = "white" if sum(shade) < 384 else "black"
            draw.text(place, text, fill=ink, font_size=size)
        return drawn

    def nothing(self) -> str:
        if self.boxes or self.missed is None:
            return "" if self.boxes else "No boxes found"
        best, score = self.missed.label, self.missed.score
        lower = max(np.floor(score * 20) / 20, 0.01)
        return (
            f"No boxes with a score of {self.least:g} found; the best one, {best}, has "
            f"{score:.4g}: --threshold {lower:g} shows it"
        )


def boxes_of(
    outputs: Sequence[Output], names: Sequence[str], least: float = LEAST_SCORE
) -> Boxes | None:
    """The boxes of TFLite_Detection_PostProcess, best first; None if the outputs are others.

    It computes edges [1, n, 4] (top, left, bottom, right), classes [1, n], scores [1, n] and a
    count. Some exporters put them in another order. Boxes with a NaN or an infinity are left out.
    """
    edges = next((o for o in outputs if o.values.ndim == 3 and o.shape[::2] == (1, 4)), None)
    if edges is None:
        return None
    rows = [output for output in outputs if output.shape == edges.shape[:2]]
    counts = [output for output in outputs if output.values.size == 1 and output.shape != (1, 1)]
    if len(rows) != 2 or len(counts) != 1:
        return None
    classes, scores = rows if rows[0].whole else rows[::-1]
    given = tuple(names) or classes.labels
    columns = (edges.values[0], classes.values[0][:, None], scores.values[0][:, None])
    table = np.concatenate(columns, axis=1)
    count = int(np.clip(np.nan_to_num(counts[0].values.item()), 0, len(table)))
    found = [
        Box(label(given, int(kind)), int(kind), score, *edge)
        for *edge, kind, score in table[:count].tolist()
        if np.isfinite((*edge, kind, score)).all()
    ]
    found.sort(key=lambda box: -box.score)
    return certain_of(found, least)


def certain_of(found: Sequence[Box], least: float) -> Boxes:
    """Those of some boxes, the best first, with at least this score."""
    certain = tuple(box for box in found if box.score >= least)
    return Boxes(certain, least, next((box for box in found if box.score < least), None))
