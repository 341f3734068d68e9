"""Every tensor of a model, constants and results of its layers included."""

import sys
import warnings

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

warnings.simplefilter("ignore")
interpreter = Interpreter(
    sys.argv[1] + "/regression.tflite",
    experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    experimental_preserve_all_tensors=True,
)
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([[0.7]], np.float32))
interpreter.invoke()
for details in interpreter.get_tensor_details():
    if details["name"]:
        value = interpreter.get_tensor(details["index"])
        print(details["index"], details["name"], value.shape, value.ravel()[:4].round(4))
