"""A view that is held while the model runs is an error."""

import sys

from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/regression.tflite")
interpreter.allocate_tensors()
view = interpreter.tensor(interpreter.get_input_details()[0]["index"])()
view[:] = 0.5
for name in ("invoke", "allocate_tensors"):
    try:
        getattr(interpreter, name)()
    except RuntimeError as error:
        print(name, str(error)[:46])
del view
interpreter.invoke()
print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
