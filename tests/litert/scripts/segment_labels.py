"""Segmentation with the labels computed in the model, as int64."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/segmenter_labels.tflite")
interpreter.allocate_tensors()
index = interpreter.get_input_details()[0]["index"]
interpreter.set_tensor(index, np.random.default_rng(6).random((1, 16, 16, 3)).astype(np.float32))
interpreter.invoke()
labels = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print(labels.dtype, labels.shape, np.unique(labels, return_counts=True))
