"""The operator that makes boxes of what a detector computes for its anchors."""

from flatbuffers import flexbuffers

from .values import Call, Part, Value

OPTIONS = {
    **{"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0},
    **{"nms_iou_threshold": 0.4, "nms_score_threshold": 0.3, "use_regular_nms": False},
    **{"max_classes_per_detection": 1, "detections_per_class": 100},
}


def detected(
    encodings: Value, scores: Value, anchors: Value, **options: float | bool
) -> list[Value]:
    """Boxes, classes, scores and their number; `options` beside `OPTIONS`, or in their place."""
    attrs = {"custom_options": bytes(flexbuffers.Dumps({**OPTIONS, **options}))}
    found = Call("TFLite_Detection_PostProcess", (encodings, scores, anchors), attrs, outputs=4)
    return [Part(found, position) for position in range(4)]
