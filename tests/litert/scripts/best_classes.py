"""The best classes, which the model itself picks."""

import sys

import numpy as np
from tflite_runtime.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/topk.tflite")
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
for seed in range(3):
    interpreter.set_tensor(index, np.random.default_rng(seed).random((1, 23), np.float32))
    interpreter.invoke()
    scores, places = (
        interpreter.get_tensor(item["index"]) for item in interpreter.get_output_details()
    )
    print(places[0], scores[0].round(4))
