"""Inputs and outputs without copies."""

import sys

from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/regression.tflite")
interpreter.allocate_tensors()
source = interpreter.tensor(interpreter.get_input_details()[0]["index"])
target = interpreter.tensor(interpreter.get_output_details()[0]["index"])
for value in range(5):
    source().fill(value / 3)
    interpreter.invoke()
    print("inference", target()[0])
