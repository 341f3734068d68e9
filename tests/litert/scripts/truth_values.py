"""Truth values as results."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/threshold.tflite")
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
interpreter.set_tensor(index, np.linspace(-0.3, 0.3, 7).astype(np.float32)[None])
interpreter.invoke()
result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print(result.dtype, result)
