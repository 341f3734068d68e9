"""Detection, with non-maximum suppression in the script."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def suppressed(boxes, scores, limit=0.5):
    order = scores.argsort()[::-1]
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(int(best))
        low = np.maximum(boxes[best, :2], boxes[order, :2])
        high = np.minimum(boxes[best, 2:], boxes[order, 2:])
        inside = np.prod(np.clip(high - low, 0, None), axis=1)
        area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
        order = order[inside / (area[best] + area[order] - inside + 1e-6) < limit]
    return kept


interpreter = Interpreter(sys.argv[1] + "/detector.tflite")
interpreter.allocate_tensors()
details = interpreter.get_input_details()
frame = np.random.default_rng(4).random(details[0]["shape"], np.float32) - 0.7
interpreter.set_tensor(details[0]["index"], frame)
interpreter.invoke()
raw = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
corners = np.concatenate([raw[:, :2] - raw[:, 2:] / 2, raw[:, :2] + raw[:, 2:] / 2], axis=1)
kept = suppressed(corners, raw.sum(axis=1))
print(kept[:3], raw[kept[:3]].round(3))
