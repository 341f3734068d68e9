"""A batch of rows, by resizing the input."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1] + "/batches.tflite")
details = interpreter.get_input_details()[0]
print(details["shape"], details["shape_signature"])
random = np.random.default_rng(9)
for rows in (1, 4, 2, 4):
    interpreter.resize_tensor_input(details["index"], [rows, 5])
    interpreter.allocate_tensors()
    interpreter.set_tensor(details["index"], random.random((rows, 5), np.float32))
    interpreter.invoke()
    output = interpreter.get_output_details()[0]
    print(output["shape"], interpreter.get_tensor(output["index"]).round(4))
