"""A resource variable, which keeps a sum from run to run."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1] + "/running_total.tflite")
interpreter.allocate_tensors()
for value in (1.0, 2.0, 3.0):
    for details in interpreter.get_input_details():
        interpreter.set_tensor(details["index"], np.full(details["shape"], value, details["dtype"]))
    interpreter.invoke()
    print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
