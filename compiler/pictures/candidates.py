"""Detection without postprocessing: the candidates of YOLO, of which most show nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...runtime.errors import InputError
from ..ir import Array
from .boxes import LEAST_SCORE, Box, Boxes, certain_of
from .outputs import Output, label

# Of two boxes of a class, as the share of their union; of more, only the better one counts.
MOST_OVERLAP = 0.45
# Coordinates relative to the picture are smaller than this; others are pixels.
LARGEST_RELATIVE = 2.0


@dataclass(frozen=True)
class Layout:
    """What the numbers of a candidate are: the center's x and y, width, height, then scores."""

    boxes_last: bool  # Whether the output is [1, numbers, boxes] rather than [1, boxes, numbers].
    # Whether a score that there is an object comes before, and multiplies, those of classes.
    objectness: bool

    @property
    def first_class(self) -> int:
        """The numbers before the scores of the classes."""
        return 5 if self.objectness else 4

    def rows(self, output: Output) -> Array | None:
        """The candidates [boxes, numbers] of an output that can have this layout, else None."""
        if output.values.ndim != 3 or output.shape[0] != 1 or output.whole:
            return None
        rows: Array = output.values[0].T if self.boxes_last else output.values[0]
        boxes, numbers = rows.shape
        scores = rows[:, 4:]
        plausible = boxes > numbers > self.first_class and scores.min() > -0.01
        return rows if plausible and scores.max() < 1.01 and rows[:, 2:4].min() > -0.01 else None


# By the network that uses them first; later ones do as well.
LAYOUTS = {
    "yolov5": Layout(boxes_last=False, objectness=True),
    "yolov8": Layout(boxes_last=True, objectness=False),
    "yolov8_rows": Layout(boxes_last=False, objectness=False),
}


def candidates_of(
    outputs: Sequence[Output],
    names: Sequence[str],
    layout: str,
    size: tuple[int, int],
    least: float = LEAST_SCORE,
) -> Boxes | None:
    """The boxes of the first output with candidates, best first; None if there is none.

    The layout is one of LAYOUTS or, if empty, the only one that the output's shape and the number
    of names allow; InputError if there are several. Coordinates are relative to the picture or in
    pixels of the model's input, whose height and width are `size`.
    """
    for output in outputs:
        given = tuple(names) or output.labels
        fitting = {
            name: rows
            for name, each in LAYOUTS.items()
            if layout in ("", name) and (rows := each.rows(output)) is not None
        }
        named = {
            name: rows
            for name, rows in fitting.items()
            if rows.shape[1] == LAYOUTS[name].first_class + len(given)
        }
        chosen = named or fitting
        if len(chosen) > 1:
            raise InputError(
                f"output {output.name} {list(output.shape)} can have several layouts; choose one "
                f"with --layout {' or --layout '.join(chosen)}"
            )
        for name, rows in chosen.items():
            return _decoded(rows, LAYOUTS[name], given, size, least)
    return None


def _decoded(
    rows: Array, layout: Layout, names: Sequence[str], size: tuple[int, int], least: float
) -> Boxes:
    scores = rows[:, layout.first_class :]
    if layout.objectness:
        scores = scores * rows[:, 4:5]
    kinds, best = scores.argmax(axis=1), scores.max(axis=1)
    certain = likeliest(rows, best, least)
    places = rows[:, :4]
    if certain.size and np.abs(places[certain]).max() > LARGEST_RELATIVE:
        places = places / (*size[::-1], *size[::-1])
    return distinct(certain, places, kinds, best, names, MOST_OVERLAP, least)


def likeliest(rows: Array, scores: Array, least: float) -> Array:
    """The numbers of the finite rows that score enough, best first; if none does, of the best."""
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1) & np.isfinite(scores))
    ranked = usable[np.argsort(-scores[usable], kind="stable")]
    return ranked[: max(int((scores[ranked] >= least).sum()), 1)]


def distinct(
    order: Array,
    places: Array,
    kinds: Array,
    scores: Array,
    names: Sequence[str],
    most: float,
    least: float,
) -> Boxes:
    """Of boxes, in this order, those that overlap no earlier one of their kind by more.

    Each place is the center's x and y, the width and the height, relative to the picture.
    """
    centers, extents = places[:, :2], places[:, 2:]
    edges = np.concatenate([centers - extents / 2, centers + extents / 2], axis=1)
    kept: list[int] = []
    for number in map(int, order):
        alike = [other for other in kept if kinds[other] == kinds[number]]
        if all(_overlap(edges[number], edges[other]) <= most for other in alike):
            kept.append(number)
    found = []
    for number in kept:
        kind, (left, top, right, bottom) = int(kinds[number]), edges[number].tolist()
        score = float(scores[number])
        found.append(Box(label(names, kind), kind, score, top, left, bottom, right))
    return certain_of(found, least)


def _overlap(one: Array, other: Array) -> float:
    """The area that two boxes (left, top, right, bottom) share, relative to their union."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    shared = float(np.maximum(high - low, 0).prod())
    areas = float((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod())
    return shared / max(areas - shared, 1e-12)
