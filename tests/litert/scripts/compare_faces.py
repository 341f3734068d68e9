"""Two inputs, told apart by their names."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/pair.tflite")
interpreter.allocate_tensors()
by_name = {item["name"]: item["index"] for item in interpreter.get_input_details()}
print(sorted(by_name))
for place, name in enumerate(sorted(by_name)):
    interpreter.set_tensor(
        by_name[name], np.arange(9, dtype=np.float32).reshape(1, 9) * (place - 1)
    )
interpreter.invoke()
print(np.sqrt(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).sum()))
