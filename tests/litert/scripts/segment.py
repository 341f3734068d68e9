"""Segmentation: the class of each pixel."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/segmenter.tflite")
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
interpreter.set_tensor(index, np.random.default_rng(6).random((1, 16, 16, 3)).astype(np.float32))
interpreter.invoke()
mask = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
print(mask.shape, np.bincount(mask.argmax(axis=2).ravel(), minlength=3), mask[3, 4].round(3))
