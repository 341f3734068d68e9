"""Signatures, by the names of their inputs and outputs."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(model_path=sys.argv[1] + "/signatures.tflite")
signatures = interpreter.get_signature_list()
print(signatures)
random = np.random.default_rng(8)
for key in ("near", "far"):
    runner = interpreter.get_signature_runner(key)
    shapes = {name: item["shape"] for name, item in runner.get_input_details().items()}
    values = {name: random.random(shape, np.float32) for name, shape in shapes.items()}
    results = runner(**values)
    for name, value in results.items():
        print(key, name, runner.get_output_details()[name]["index"], value.ravel()[:3])
try:
    interpreter.get_signature_runner()
except ValueError as error:
    print("ValueError", error)
try:
    runner(left=values["left"])
except ValueError as error:
    print("ValueError", error)
