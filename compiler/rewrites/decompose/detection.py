"""TFLite_Detection_PostProcess is decomposed into box decoding, suppression and lookups.

NON_MAX_SUPPRESSION_V4 and _V5 become tflgpu.suppress.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from ...ir import Op, Shape, Tensor
from ...ops.sort.non_max_suppression import SUPPRESS, classes_for_a_box, most_boxes
from .decomposition import Decomposition, Results, decomposes


@decomposes("TFLite_Detection_PostProcess")
def detection(here: Decomposition) -> Results:
    """Decode the boxes, then find detections among them."""
    return detections(here, _boxes(here), here.op.operand(1))


def detections(here: Decomposition, boxes: Tensor, scores: Tensor) -> Results:
    """Suppress boxes (corners, of shape [boxes, 4]), given the scores of their classes.

    Results are filled with zeros past the last detection.
    """
    op = here.op
    count, classes = scores.shape[1], int(op.attrs["num_classes"])
    named = here.slice(scores, [0, 0, scores.shape[2] - classes], [1, count, classes])
    named = here.reshape(named, (count, classes))
    apart = op.attrs.get("use_regular_nms", False)
    results = (_class_by_class if apart else _best_classes)(here, boxes, named)
    shapes = [tensor.shape for tensor in op.outputs]
    return [_filled(here, t, shape) for t, shape in zip(results, shapes, strict=True)]


def _best_classes(here: Decomposition, boxes: Tensor, named: Tensor) -> Sequence[Tensor]:
    """Fast suppression: of boxes by their best class's score; then each box's best classes."""
    places = classes_for_a_box(here.op)
    count = min(places, named.shape[1])
    operands = named, here.constant(count, "int32")
    values, classes = here.several("TOPK_V2", operands, ("float32", "int32"))
    best = here.reduce("REDUCE_MAX", named, keep_dims=False)
    kept, _, number = _suppressed(here, boxes, best, int(here.op.attrs["max_detections"]))
    rows = kept.shape[0]
    there = here.reshape(_there(here, rows, number), (rows, 1, 1))

    def chosen(table: Tensor, width: int) -> Tensor:
        """The table's rows for the boxes kept, padded to the classes listed per box."""
        taken = here.reshape(here.add("GATHER", table, kept, axis=0), (rows, -1, width))
        taken = here.add("MUL", taken, there)
        pads = here.constant([(0, 0), (0, places - taken.shape[1]), (0, 0)], "int32")
        return here.add("PAD", taken, pads)

    again = here.constant([1, count], "int32")
    labels = here.add("CAST", classes, dtype="float32")
    corners = chosen(here.add("TILE", boxes, again), 4)
    return corners, chosen(labels, 1), chosen(values, 1), here.add("CAST", number, dtype="float32")


def _class_by_class(here: Decomposition, boxes: Tensor, named: Tensor) -> Sequence[Tensor]:
    """Regular suppression: each class on its own; then the best scores of all classes."""
    most, classes = int(here.op.attrs["max_detections"]), named.shape[1]
    each = min(int(here.op.attrs.get("detections_per_class", 100)), most)
    kept, values, numbers = _suppressed(here, boxes, here.transpose(named, (1, 0)), each)
    there = here.constant(np.arange(each), "int32")
    there = here.add("LESS", there, here.reshape(numbers, (classes, 1)), dtype="bool")
    lowest = here.constant(-np.inf)
    values = here.add("SELECT_V2", there, values, lowest, dtype="float32")
    total = here.reduce("SUM", numbers, keep_dims=False)
    total = here.add("MINIMUM", total, here.constant(most, "int32"))
    size = min(most, classes * each)
    operands = here.reshape(values, (-1,)), here.constant(size, "int32")
    values, places = here.several("TOPK_V2", operands, ("float32", "int32"))
    there = _there(here, size, total)
    inside = here.constant(np.arange(size), "int32")
    inside = here.add("LESS", inside, total, dtype="bool")
    values = here.add("SELECT_V2", inside, values, here.constant(0.0), dtype="float32")
    labels = here.constant(np.repeat(np.arange(classes, dtype=np.float32), each))
    labels = here.add("MUL", here.add("GATHER", labels, places, axis=0), there)
    kept = here.add("GATHER", here.reshape(kept, (-1,)), places, axis=0)
    corners = here.add("GATHER", boxes, kept, axis=0)
    corners = here.add("MUL", corners, here.reshape(there, (size, 1)))
    return corners, labels, values, here.add("CAST", total, dtype="float32")


def _there(here: Decomposition, size: int, number: Tensor) -> Tensor:
    """`size` float32 values: 1 for the first `number` of them, 0 for the others."""
    places = here.constant(np.arange(size), "int32")
    return here.add("CAST", here.add("LESS", places, number, dtype="bool"), dtype="float32")


def _filled(here: Decomposition, tensor: Tensor, shape: Shape) -> Tensor:
    """A tensor padded with zeros at the end and reshaped to an output's shape."""
    missing = prod(shape) - tensor.elements
    if missing:
        flat = here.reshape(tensor, (tensor.elements,))
        tensor = here.add("PAD", flat, here.constant([(0, missing)], "int32"))
    return here.reshape(tensor, shape)


def _boxes(here: Decomposition) -> Tensor:
    """Corners (top, left, bottom, right) of the boxes, which are encoded relative to anchors."""
    op = here.op
    coded = here.add("DIV", encodings(here, op.operand(0)), here.constant([box_scales(op)]))
    centres, sizes = halves(here, coded)
    anchors, extents = halves(here, op.operand(2))
    centres = here.add("ADD", here.add("MUL", centres, extents), anchors)
    half = here.add("MUL", here.add("MUL", here.add("EXP", sizes), extents), here.constant(0.5))
    return corners(here, centres, half)


def box_scales(op: Op) -> list[float]:
    """What encodings are divided by: of the centre (y, x), and of height and width."""
    return [float(op.attrs.get(f"{name}_scale", 1.0)) for name in "yxhw"]


def encodings(here: Decomposition, coded: Tensor) -> Tensor:
    """The encodings of centres and sizes, [boxes, 4]; keypoints that follow are left out."""
    count = coded.shape[1]
    return here.reshape(here.slice(coded, [0, 0, 0], [1, count, 4]), (count, 4))


def corners(here: Decomposition, centres: Tensor, half: Tensor) -> Tensor:
    """The corners of boxes from their centres and half their sizes."""
    low, high = here.add("SUB", centres, half), here.add("ADD", centres, half)
    return here.add("CONCATENATION", low, high, axis=1)


def halves(here: Decomposition, rows: Tensor) -> tuple[Tensor, ...]:
    """The first two columns of rows of four, and the last two."""
    return here.split(rows, 2, 1)


def _suppressed(
    here: Decomposition, boxes: Tensor, scores: Tensor, most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Indices of the boxes kept, their scores and their count.

    This operator keeps boxes whose score or overlap equals its threshold; NON_MAX_SUPPRESSION drops
    them. Moving each threshold to the next float makes up for that.
    """
    attrs = here.op.attrs
    overlap = np.float32(attrs.get("nms_iou_threshold", 0.0))
    least = np.float32(attrs.get("nms_score_threshold", 0.0))
    above = np.nextafter(overlap, np.float32(np.inf))
    below = np.nextafter(least, np.float32(-np.inf))
    limits = here.constant([above, below, 0.0])
    return _suppress(here, boxes, scores, most, limits)


def _suppress(
    here: Decomposition, boxes: Tensor, scores: Tensor, most: int, limits: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Indices of the boxes kept, [most] or [classes, most], their scores and their count.

    `boxes` has the shape [boxes, 4], `scores` [boxes] or [classes, boxes], `limits` [3].
    """
    types, of_classes = ("int32", "float32"), scores.shape[:-1]
    operands = [boxes, scores, limits]
    if not limits.constant:
        numbers = here.reshape(boxes, (boxes.elements,)), limits
        operands = [here.add("CONCATENATION", *numbers, axis=0), scores]
    integers, floats = here.several(SUPPRESS, operands, types, most=most)
    classes = prod(of_classes)
    end = classes * most
    kept, kept_scores = (here.slice(each, [0], [end]) for each in (integers, floats))
    counts = here.slice(integers, [end], [classes])
    shape = (*of_classes, most)
    results = (kept, shape), (kept_scores, shape), (counts, of_classes)
    kept, kept_scores, counts = (here.reshape(*each) for each in results)
    return kept, kept_scores, counts


@decomposes("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def suppress(here: Decomposition) -> Results:
    """Only V5 suppresses softly; for V4 sigma is 0."""
    op = here.op
    boxes, scores, _, overlap, least = (op.operand(position) for position in range(5))
    softly = op.name.endswith("5")
    sigma = op.operand(5) if softly else here.constant(0.0)
    numbers = (here.reshape(number, (1,)) for number in (overlap, least, sigma))
    limits = here.add("CONCATENATION", *numbers, axis=0)
    kept, scores, count = _suppress(here, boxes, scores, most_boxes(op), limits)
    return (kept, scores, count) if softly else (kept, count)
