"""An int8 classifier, with the parameters of its quantization."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1] + "/int8.tflite")
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
parameters = details["quantization_parameters"]
assert details["dtype"] == np.int8
image = np.random.default_rng(2).random(details["shape"], dtype=np.float32)
image = image / parameters["scales"][0] + parameters["zero_points"][0]
interpreter.set_tensor(details["index"], image.astype(np.int8))
interpreter.invoke()
print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
