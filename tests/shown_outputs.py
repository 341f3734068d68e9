"""Outputs as networks for pictures compute them."""

from typing import Any

import numpy as np

from tflgpu.compiler.pictures.outputs import Output
from tflgpu.compiler.pictures.poses import TREE

CENTERS = [(0.5, 0.5, 0.4, 0.2), (0.51, 0.5, 0.4, 0.2), (0.5, 0.51, 0.4, 0.2), (0.2, 0.9, 0.2, 0.2)]
# Of four boxes: two of one class that overlap, one of another at the same place, none.
SCORES = [(0.9, 0.1, 0.0), (0.8, 0.2, 0.0), (0.1, 0.6, 0.0), (0.4, 0.0, 0.3)]


def output(values: Any, *shape: int, labels: tuple[str, ...] = ()) -> Output:
    return Output(
        "y", np.asarray(values, np.float64).reshape(shape or np.shape(values)), labels=labels
    )


def detections(*order: int) -> list[Output]:
    edges = output([[0.25, 0.5, 0.75, 1], [0, 0, 0.5, 0.5], [0, 0, 1, 1]], 1, 3, 4)
    classes, scores = output([[2, 0, 1]], labels=("cat", "dog", "owl")), output([[0.6, 0.9, 0.1]])
    found = [edges, classes, scores, output([3.0])]
    return [found[number] for number in order]


def posenet(joined: bool) -> list[Output]:
    """Two bodies whose points are a row of cells each; displacements are off by 2 pixels."""
    heat = np.full((1, 9, 17, 17), -9.0)
    offsets = np.zeros((1, 9, 17, 2, 17))
    moves = np.zeros((1, 9, 17, 2, 2, 16))
    for row, score in ((2, 3.0), (6, 2.0)):
        for part in range(17):
            heat[0, row, part, part] = score - part / 10
            offsets[0, row, part, :, part] = 1.0, 2.0
        for edge, (parent, child) in enumerate(TREE):
            moves[0, row, parent, 0, :, edge] = 2, 8 * (child - parent)
            moves[0, row, child, 1, :, edge] = 2, 8 * (parent - child)
    halves = [moves[:, :, :, way].reshape(1, 9, 17, 32) for way in (0, 1)]
    moved = [np.concatenate(halves, axis=3)] if joined else halves
    return [output(each) for each in (heat, offsets.reshape(1, 9, 17, 34), *moved)]


def anchored() -> list[Output]:
    """Boxes of MediaPipe for a picture of 128 x 128: in cell (y 2, x 5) of 16 x 16, in one that
    overlaps it, and in cell (6, 1) of 8 x 8; the scores of all others are low."""
    boxes, logits = np.zeros((1, 896, 16)), np.full((1, 896, 1), -9.0)
    for number, score, box in (
        (2 * (2 * 16 + 5), 3.0, (4.0, -4.0, 32.0, 24.0)),
        (2 * (2 * 16 + 6), 2.0, (0.0, 0.0, 32.0, 24.0)),
        (512 + 6 * (6 * 8 + 1) + 5, 1.0, (0.0, 0.0, 16.0, 16.0)),
    ):
        boxes[0, number, :4], logits[0, number] = box, score
    return [output(boxes), output(logits)]


def candidates(layout: str, scale: tuple[float, float] = (1.0, 1.0)) -> Output:
    """The boxes above, and others that show nothing, as a network of the layout writes them."""
    rows = np.zeros((20, 8 if layout == "yolov5" else 7))
    rows[:4, :4] = np.array(CENTERS) * np.tile(scale, 2)
    rows[:4, -3:] = SCORES
    if layout == "yolov5":
        rows[:4, 4], rows[:4, -3:] = 0.95, np.array(SCORES) / 0.95
    return output((rows.T if layout == "yolov8" else rows)[None])
