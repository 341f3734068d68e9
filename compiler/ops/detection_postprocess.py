"""TFLite_Detection_PostProcess: boxes decoded from anchors, then suppressed; shapes only."""

from __future__ import annotations

from ..errors import ModelError
from ..ir import Op, Shape
from .base import OpDef, define


def classes_for_a_box(op: Op) -> int:
    """Classes that the outputs list per box."""
    return int(op.attrs.get("max_classes_per_detection", 1))


def _infer(op: Op) -> list[Shape]:
    """Boxes, classes, scores and their count; box encodings may have keypoints after the box."""
    boxes, scores, anchors = (op.operand(i).shape for i in range(3))
    classes, most = int(op.attrs.get("num_classes", 0)), int(op.attrs.get("max_detections", 0))
    fits = len(boxes) == len(scores) == 3 and boxes[0] == 1 and boxes[2] >= 4
    fits &= anchors == (*boxes[1:2], 4) and scores[:2] == boxes[:2]
    fits &= 0 < classes <= scores[-1] and min(most, classes_for_a_box(op)) > 0
    if not fits:
        raise ModelError(
            f"operator {op.index} {op.name}: boxes {list(boxes)}, scores {list(scores)}, anchors "
            f"{list(anchors)}, {classes} classes and {most} detections do not match"
        )
    places = most * classes_for_a_box(op)
    return [(1, places, 4), (1, places), (1, places), (1,)]


define(OpDef("TFLite_Detection_PostProcess", _infer, (), note="becomes non-maximum suppression"))
