"""Joints of a pose: the brightest place of each heat map."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/heatmaps.tflite")
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
interpreter.set_tensor(
    details["index"], np.random.default_rng(3).random(details["shape"], np.float32)
)
interpreter.invoke()
maps = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
for joint in range(maps.shape[2]):
    row, column = np.unravel_index(maps[:, :, joint].argmax(), maps.shape[:2])
    print(joint, row, column, maps[row, column, joint].round(3))
