"""What goes wrong with inputs that do not fit, and in the wrong order."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/digits.tflite")
index = interpreter.get_input_details()[0]["index"]


def attempt(action, *arguments):
    try:
        action(*arguments)
        print("fine")
    except (ValueError, RuntimeError) as error:
        print(type(error).__name__, str(error).strip()[:60])


attempt(interpreter.invoke)
attempt(interpreter.set_tensor, index, np.zeros((1, 8, 8, 1), np.float32))
attempt(interpreter.get_tensor, index)
interpreter.allocate_tensors()
attempt(interpreter.set_tensor, index, np.zeros((1, 8, 8, 1)))
attempt(interpreter.set_tensor, index, np.zeros((1, 8, 8), np.float32))
attempt(interpreter.set_tensor, index, np.zeros((1, 8, 9, 1), np.float32))
attempt(interpreter.set_tensor, 9999, np.zeros((1, 8, 8, 1), np.float32))
attempt(interpreter.set_tensor, index, np.zeros((1, 8, 8, 1), np.float32))
attempt(interpreter.invoke)
attempt(Interpreter)
attempt(Interpreter, sys.argv[1] + "/digits.tflite", b"content")
