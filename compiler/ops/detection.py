"""TFLite_Detection_PostProcess: boxes from what a detector says of its anchors; shapes only."""

from __future__ import annotations

from ..errors import Finding, ModelError, UnsupportedError
from ..ir import Op, Shape
from .base import OpDef, define


def _infer(op: Op) -> list[Shape]:
    """Boxes, classes, scores and their number (UnsupportedError for other ways to suppress)."""
    boxes, scores, anchors = (op.operand(i).shape for i in range(3))
    classes, most = int(op.attrs.get("num_classes", 0)), int(op.attrs.get("max_detections", 0))
    fits = len(boxes) == 3 and boxes[1:] == (*anchors[:1], 4) == (boxes[1], *anchors[1:])
    if not fits or scores[:2] != boxes[:2] or not 0 < classes <= scores[2] or most < 1:
        raise ModelError(
            f"operator {op.index} {op.name}: boxes {list(boxes)}, scores {list(scores)}, anchors "
            f"{list(anchors)} and {classes} classes do not go together"
        )
    reasons = {
        "several pictures": boxes[0] != 1,
        "suppression for each class on its own": bool(op.attrs.get("use_regular_nms", False)),
        "several classes for a box": int(op.attrs.get("max_classes_per_detection", 1)) != 1,
    }
    for reason, applies in reasons.items():
        if applies:
            raise UnsupportedError([Finding(op.index, op.name, reason)])
    return [(1, most, 4), (1, most), (1, most), (1,)]


define(
    OpDef(
        "TFLite_Detection_PostProcess",
        _infer,
        (),
        note="one picture, one class for a box, suppression over all classes",
    )
)
