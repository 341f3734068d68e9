"""Several outputs, by their names."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/branches.tflite")
interpreter.allocate_tensors()
random = np.random.default_rng(12)
for details in interpreter.get_input_details():
    interpreter.set_tensor(details["index"], random.random(details["shape"], np.float32))
interpreter.invoke()
results = {
    item["name"]: interpreter.get_tensor(item["index"]) for item in interpreter.get_output_details()
}
print(results["age"].item(), results["mood"].argmax(), results["mood"].round(3))
