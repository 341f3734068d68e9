"""What follows a detector: boxes from anchors, suppression, the class of each box that is left."""

from __future__ import annotations

import numpy as np

from ..ir import Tensor
from ..ops.suppress import SUPPRESS
from .expansion import Expansion, expands


@expands("TFLite_Detection_PostProcess")
def detection(here: Expansion) -> str | None:
    """Places past the last box left hold zeros."""
    op, attrs = here.op, here.op.attrs
    scores = op.operand(1)
    count, classes = scores.shape[1], int(attrs["num_classes"])
    begin = here.constant([0, 0, scores.shape[2] - classes], "int32")
    named = here.add("SLICE", scores, begin, here.constant([1, count, classes], "int32"))
    named = here.reshape(named, (count, classes))
    last = here.constant([1], "int32")
    best = here.add("REDUCE_MAX", named, last, keep_dims=False)
    boxes = _boxes(here)
    kept, values, number = _suppressed(here, boxes, best)
    places = here.constant(np.arange(kept.shape[0]), "int32")
    there = here.add("CAST", here.add("LESS", places, number, dtype="bool"), dtype="float32")
    axis = here.constant(1, "int32")
    chosen = here.add("ARG_MAX", here.add("GATHER", named, kept, axis=0), axis, dtype="int32")
    labels = here.add("MUL", here.add("CAST", chosen, dtype="float32"), there)
    corners = here.add("GATHER", boxes, kept, axis=0)
    corners = here.add("MUL", corners, here.reshape(there, (kept.shape[0], 1)))
    total = here.reshape(here.add("CAST", number, dtype="float32"), (1,))
    results = (corners, labels, values, total)
    shapes = [tensor.shape for tensor in op.outputs]
    here.finish(*(here.reshape(t, shape) for t, shape in zip(results, shapes, strict=True)))
    return None


def _boxes(here: Expansion) -> Tensor:
    """Corners (top, left, bottom, right) from centres and sizes relative to the anchors."""
    op = here.op
    count = op.operand(0).shape[1]
    scales = [float(op.attrs.get(f"{name}_scale", 1.0)) for name in "yxhw"]
    coded = here.reshape(op.operand(0), (count, 4))
    coded = here.add("DIV", coded, here.constant([scales]))
    centres, sizes = _halves(here, coded)
    anchors, extents = _halves(here, op.operand(2))
    centres = here.add("ADD", here.add("MUL", centres, extents), anchors)
    half = here.add("MUL", here.add("MUL", here.add("EXP", sizes), extents), here.constant(0.5))
    low, high = here.add("SUB", centres, half), here.add("ADD", centres, half)
    return here.add("CONCATENATION", low, high, axis=1)


def _halves(here: Expansion, rows: Tensor) -> tuple[Tensor, ...]:
    axis = here.constant(1, "int32")
    return here.several("SPLIT", (axis, rows), [rows.dtype] * 2, num_splits=2)


def _suppressed(here: Expansion, boxes: Tensor, best: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes left, their scores and their number.

    Here a score equal to the least one is enough, and an overlap equal to the largest one is not
    too much; elsewhere it is the other way round. The neighbouring floats make up for that.
    """
    attrs = here.op.attrs
    overlap = np.float32(attrs.get("nms_iou_threshold", 0.0))
    least = np.float32(attrs.get("nms_score_threshold", 0.0))
    most = min(int(attrs["max_detections"]), here.op.output.shape[1])
    operands = (
        boxes,
        best,
        here.constant(most, "int32"),
        here.constant(np.nextafter(overlap, np.float32(np.inf))),
        here.constant(np.nextafter(least, np.float32(-np.inf))),
        here.constant(0.0),
    )
    types = ("int32", "float32", "int32", "float32")
    kept, scores, number, _ = here.several(SUPPRESS, operands, types)
    return kept, scores, number
