"""Detection with the operator that suppresses overlapping boxes."""

import sys

import numpy as np
from tflite_runtime.interpreter import Interpreter


def output_tensor(interpreter, index):
    return np.squeeze(interpreter.get_tensor(interpreter.get_output_details()[index]["index"]))


interpreter = Interpreter(sys.argv[1] + "/postprocess.tflite")
interpreter.allocate_tensors()
random = np.random.default_rng(5)
for details in interpreter.get_input_details():
    values = random.random(details["shape"]).astype(np.float32)
    interpreter.set_tensor(details["index"], values)
interpreter.invoke()
boxes, classes, scores, count = (output_tensor(interpreter, i) for i in range(4))
for box, label, score in zip(boxes[: int(count)], classes, scores, strict=False):
    if score >= 0.3:
        print(int(label), round(float(score), 3), box.round(3))
