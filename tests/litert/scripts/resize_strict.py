"""Strict resizing, which only changes sizes that the model leaves open."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1] + "/batches.tflite")
index = interpreter.get_input_details()[0]["index"]
interpreter.resize_tensor_input(index, (3, 5), strict=True)
interpreter.allocate_tensors()
interpreter.set_tensor(index, np.eye(3, 5, dtype=np.float32))
interpreter.invoke()
print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
try:
    interpreter.resize_tensor_input(index, (3, 6), strict=True)
except (ValueError, RuntimeError) as error:
    print(type(error).__name__, "ResizeInputTensorStrict" in str(error))
