"""A model given as bytes."""

import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

content = Path(sys.argv[1], "regression.tflite").read_bytes()
interpreter = Interpreter(model_content=content)
interpreter.allocate_tensors()
for value in (-1.0, 0.0, 0.5, 2.0):
    interpreter.set_tensor(
        interpreter.get_input_details()[0]["index"], np.array([[value]], dtype=np.float32)
    )
    interpreter.invoke()
    print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0, 0])
