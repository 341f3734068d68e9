"""Detection relative to anchors, as MediaPipe's detectors of faces, palms and persons compute it.

An output [1, n, 1] has the logits of n scores, and another [1, n, numbers] the center's x and y,
the width and the height of each box, in pixels, then points that are not shown. A center is
relative to an anchor: the middle of a cell of the grids that the network has at several strides.
"""

from collections.abc import Sequence

import numpy as np

from ..ir import Array
from .boxes import Boxes
from .candidates import distinct, likeliest
from .outputs import Output

# Of the layers with anchors, by network: those for near faces and palms, for faces in larger
# pictures, for persons and for palms in larger pictures, and for far faces.
STRIDES = ((8, 16, 16, 16), (16, 32, 32, 32), (8, 16, 32, 32, 32), (4,))
NUMBERS = (12, 16, 18)  # Four of a box, and two of each of 4, 6 or 7 points.
MOST_OVERLAP = 0.3


def anchored_of(
    outputs: Sequence[Output], names: Sequence[str], size: tuple[int, int], least: float
) -> Boxes | None:
    """The boxes, best first, for a picture of a height and width; None for other outputs."""
    found = [each for each in outputs if each.values.ndim == 3 and each.shape[0] == 1]
    boxes = next((each for each in found if each.shape[2] in NUMBERS), None)
    logits = next((each for each in found if boxes and each.shape == (1, boxes.shape[1], 1)), None)
    grids = (_anchors(strides, size) for strides in STRIDES)
    anchors = next((each for each in grids if boxes and len(each) == boxes.shape[1]), None)
    if boxes is None or logits is None or anchors is None:
        return None
    places = boxes.values[0, :, :4] / (*size[::-1], *size[::-1]) + np.pad(anchors, ((0, 0), (0, 2)))
    scores = 1 / (1 + np.exp(-np.clip(logits.values[0, :, 0], -100, 100)))
    certain = likeliest(places, scores, least)
    kinds = np.zeros(len(scores), int)
    return distinct(certain, places, kinds, scores, names, MOST_OVERLAP, least)


def _anchors(strides: tuple[int, ...], size: tuple[int, int]) -> Array:
    """The centers (x, y) of all anchors, relative to the picture: one of a single grid, else two.

    Those of grids with the same stride follow one another in each cell.
    """
    each = 1 if len(strides) == 1 else 2
    grids = []
    for stride in dict.fromkeys(strides):
        rows, columns = (-(-length // stride) for length in size)
        y, x = np.mgrid[:rows, :columns]
        cells = np.stack([(x + 0.5) / columns, (y + 0.5) / rows], axis=2).reshape(-1, 2)
        grids.append(np.repeat(cells, each * strides.count(stride), axis=0))
    return np.concatenate(grids)
