"""Audio with a state in the model, and what resetting it does."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/keyword.tflite")
interpreter.allocate_tensors()
given, found = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
for step in range(6):
    if step == 4:
        interpreter.reset_all_variables()
    interpreter.set_tensor(given["index"], np.full(given["shape"], 0.25, np.float32))
    interpreter.invoke()
    print(step, interpreter.get_tensor(found["index"])[0].round(3))
