"""Non-maximum suppression: of overlapping boxes only the one with the highest score is kept.

TFLite_Detection_PostProcess decodes boxes from anchors before; it has shapes only.
"""

from math import prod

from ...ir import Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch

# The operator that the others become. Operands: boxes [n, 4], scores [n] or [classes, n], and
# constant limits [3]: the overlap and score thresholds, and sigma of soft suppression (0: hard).
# Limits that are computed follow the boxes in a tensor of [4 n + 3], so that the kernel has four
# buffers, which any device allows. Outputs: int32, the indices of the `most` boxes kept of each
# class, and then how many these are; floats, the scores of those kept, and then the scores left
# over, which are scratch memory. Each class is suppressed on its own.
SUPPRESS = "tflgpu.suppress"


def most_boxes(op: Op) -> int:
    """The maximum number of boxes to keep (UnsupportedError if it is not a constant)."""
    boxes, scores = op.operand(0).shape, op.operand(1).shape
    if len(boxes) != 2 or boxes[1] != 4 or scores[-1:] != boxes[:1]:
        raise op.invalid(f"boxes {list(boxes)} do not match scores {list(scores)}")
    return max(int(op.number(2)), 0)


def _infer_suppress(op: Op) -> list[Shape]:
    scores = op.operand(1)
    kept = prod(scores.shape[:-1]) * int(op.attrs["most"])
    return [(kept + prod(scores.shape[:-1]),), (kept + scores.elements,)]


def _build(op: Op, target: Target) -> Launch:
    boxes, scores = op.operand(0), op.operand(1)
    classes, most = prod(scores.shape[:-1]), op.attrs["most"]
    return Launch(
        "sort/suppress.jinja",
        (classes, 1, 1),
        {"boxes": boxes, "x": scores},
        {"y": op.outputs[0], "left": op.outputs[1]},
        variables={
            "boxes_in": scores.shape[-1],
            "most": most,
            "classes": classes,
            "known_limits": op.constant(2).tolist() if len(op.inputs) > 2 else None,
        },
        heavy=True,
        flops=20 * scores.elements * most,
    )


def classes_for_a_box(op: Op) -> int:
    """Classes that the outputs list per box."""
    return int(op.attrs.get("max_classes_per_detection", 1))


def _infer_detection(op: Op) -> list[Shape]:
    """Boxes, classes, scores and their count; box encodings may have keypoints after the box."""
    boxes, scores, anchors = (op.operand(i).shape for i in range(3))
    classes, most = int(op.attrs.get("num_classes", 0)), int(op.attrs.get("max_detections", 0))
    fits = len(boxes) == len(scores) == 3 and boxes[0] == 1 and boxes[2] >= 4
    fits &= anchors == (*boxes[1:2], 4) and scores[:2] == boxes[:2]
    fits &= 0 < classes <= scores[-1] and min(most, classes_for_a_box(op)) > 0
    if not fits:
        raise op.invalid(
            f"boxes {list(boxes)}, scores {list(scores)}, anchors {list(anchors)}, {classes} "
            f"classes and {most} detections do not match"
        )
    places = most * classes_for_a_box(op)
    return [(1, places, 4), (1, places), (1, places), (1,)]


_TYPES = ("float32", "int32")
_NOTE = "the maximum output size must be a constant"

_V4 = "boxes:T scores:T limit:integer overlap:T score:T -> indices:integer count:integer"
_V5 = (
    "boxes:T scores:T limit:integer overlap:T score:T sigma:T "
    "-> indices:integer scores:T count:integer"
)

define(
    f"NON_MAX_SUPPRESSION_V4 {_V4}", lambda op: [(most_boxes(op),), ()], dtypes=_TYPES, note=_NOTE
)
define(
    f"NON_MAX_SUPPRESSION_V5 {_V5}",
    lambda op: [(most_boxes(op),), (most_boxes(op),), ()],
    dtypes=_TYPES,
    note=_NOTE,
)
define(SUPPRESS, _infer_suppress, (row_major("suppress", _build, fuses=False),), None, _TYPES)
define(
    "TFLite_Detection_PostProcess boxes scores anchors -> boxes classes scores count",
    _infer_detection,
    note="becomes non-maximum suppression",
)
