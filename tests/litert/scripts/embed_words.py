"""Words as int32, whose mean is an embedding."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/words.tflite")
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]


def embedding(words):
    padded = np.zeros(details["shape"], np.int32)
    padded[0, : len(words)] = words
    interpreter.set_tensor(details["index"], padded)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


first, second = embedding([3, 1, 4]), embedding([2, 7, 1, 8])
print(float(first @ second), first.round(3))
